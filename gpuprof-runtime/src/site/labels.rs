//! Labels: what tells the calls of one function apart, such as the layers of a model.
//!
//! A function numbers its labels as they come. A call that has a known label takes no lock and
//! allocates nothing.

use std::fmt;
use std::hash::Hasher;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use rustc_hash::FxHasher;

use crate::nvtx::SiteRange;
use crate::os::fork;
use crate::os::own_work::OwnWork;
use gpuprof_report::profile::OTHER_LABELS;
use gpuprof_report::sanitize::longest_prefix;

/// Labels of one function that are told apart. The calls with further labels are summed.
const MAX_LABELS: usize = 256;

/// Twice the labels, so that a search soon meets the label or an empty slot.
const SLOTS: usize = 2 * MAX_LABELS;

/// Bytes of a text that count: two labels that begin with the same ones are one.
const MAX_TEXT_BYTES: usize = 256;

/// The value of a label, for one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelValue<'a> {
    /// An integer of any type of at most 64 bits.
    Integer(i128),
    /// A text.
    Text(&'a str),
}

/// A value that `label` takes.
#[diagnostic::on_unimplemented(
    message = "`label` takes an integer of at most 64 bits or a string slice, not `{Self}`",
    label = "neither an integer nor a string"
)]
pub trait IntoLabel {
    /// The label.
    fn label(&self) -> LabelValue<'_>;
}

macro_rules! integers {
    ($($integer:ty),+) => {$(
        impl IntoLabel for $integer {
            #[inline]
            fn label(&self) -> LabelValue<'_> {
                LabelValue::Integer(*self as i128)
            }
        }
    )+};
}
integers!(u8, u16, u32, u64, usize, i8, i16, i32, i64, isize);

impl IntoLabel for str {
    #[inline]
    fn label(&self) -> LabelValue<'_> {
        LabelValue::Text(self)
    }
}

impl IntoLabel for String {
    #[inline]
    fn label(&self) -> LabelValue<'_> {
        LabelValue::Text(self)
    }
}

macro_rules! pointers {
    ($($pointer:ty),+) => {$(
        impl<T: IntoLabel + ?Sized> IntoLabel for $pointer {
            #[inline]
            fn label(&self) -> LabelValue<'_> {
                T::label(self)
            }
        }
    )+};
}
pointers!(&T, &mut T, Box<T>, Rc<T>, Arc<T>);

/// The number of a label among those of its function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LabelNumber(u16);

impl LabelNumber {
    /// The call has no label.
    pub const NONE: Self = Self(0);
    /// The call has one of the labels beyond [`MAX_LABELS`].
    const OTHER: Self = Self(SLOTS as u16 + 1);

    const fn of_slot(slot: usize) -> Self {
        Self(slot as u16 + 1)
    }

    pub(crate) const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    #[inline]
    pub(crate) const fn bits(self) -> u16 {
        self.0
    }
}

/// A label as it is kept. Integers come before texts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum KeptLabel {
    Integer(i128),
    Text(Box<str>),
    /// All labels beyond [`MAX_LABELS`].
    Other,
}

impl fmt::Display for KeptLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(value) => value.fmt(f),
            Self::Text(text) => text.fmt(f),
            Self::Other => OTHER_LABELS.fmt(f),
        }
    }
}

impl KeptLabel {
    fn is(&self, value: LabelValue<'_>) -> bool {
        match (self, value) {
            (Self::Integer(mine), LabelValue::Integer(other)) => *mine == other,
            (Self::Text(mine), LabelValue::Text(other)) => **mine == *other,
            _ => false,
        }
    }
}

#[derive(Debug)]
struct Slot {
    label: KeptLabel,
    range: SiteRange,
}

/// The labels of one function.
#[derive(Debug)]
pub(crate) struct LabelTable {
    /// An open hash table, of which nothing is ever removed.
    slots: [OnceLock<Box<Slot>>; SLOTS],
    /// How many slots are used.
    used: Mutex<usize>,
    other: Slot,
}

impl LabelTable {
    pub(crate) fn boxed() -> Box<Self> {
        Box::new(Self {
            slots: [const { OnceLock::new() }; SLOTS],
            used: Mutex::new(0),
            other: Slot {
                label: KeptLabel::Other,
                range: SiteRange::new(),
            },
        })
    }

    /// The number of a label, given now if it is new.
    pub(crate) fn number(&self, value: LabelValue<'_>) -> LabelNumber {
        let value = match value {
            LabelValue::Text(text) => LabelValue::Text(longest_prefix(text, MAX_TEXT_BYTES)),
            integer @ LabelValue::Integer(_) => integer,
        };
        let start = start(value);
        for slot in (start..SLOTS).chain(0..start) {
            let Some(cell) = self.slots.get(slot) else {
                break;
            };
            let known = match cell.get() {
                Some(known) => known,
                None => match self.add(cell, value) {
                    Some(added) => added,
                    None => break,
                },
            };
            if known.label.is(value) {
                return LabelNumber::of_slot(slot);
            }
        }
        LabelNumber::OTHER
    }

    /// Puts a label into a slot and returns what is there then, which may be a label of another
    /// thread. `None`: there are too many.
    #[cold]
    fn add<'a>(&self, cell: &'a OnceLock<Box<Slot>>, value: LabelValue<'_>) -> Option<&'a Slot> {
        // There the lock may be held for ever.
        if fork::is_child() {
            return None;
        }
        let _own = OwnWork::begin();
        let mut used = self.used.lock();
        if cell.get().is_none() && *used >= MAX_LABELS {
            return None;
        }
        let slot = cell.get_or_init(|| {
            *used += 1;
            let label = match value {
                LabelValue::Integer(value) => KeptLabel::Integer(value),
                LabelValue::Text(text) => KeptLabel::Text(text.into()),
            };
            let range = SiteRange::new();
            Box::new(Slot { label, range })
        });
        Some(slot)
    }

    fn slot(&self, number: LabelNumber) -> Option<&Slot> {
        if number == LabelNumber::OTHER {
            return Some(&self.other);
        }
        let slot = usize::from(number.0).checked_sub(1)?;
        self.slots.get(slot)?.get().map(|slot| &**slot)
    }

    pub(crate) fn label(&self, number: LabelNumber) -> Option<&KeptLabel> {
        self.slot(number).map(|slot| &slot.label)
    }

    /// The NVTX ranges of the calls with a label.
    pub(crate) fn range(&self, number: LabelNumber) -> Option<&SiteRange> {
        self.slot(number).map(|slot| &slot.range)
    }
}

/// The slot at which the search for a label begins.
fn start(value: LabelValue<'_>) -> usize {
    let hash = match value {
        // Neighbours get neighbouring slots.
        LabelValue::Integer(value) => value as u64,
        LabelValue::Text(text) => {
            let mut hasher = FxHasher::default();
            hasher.write(text.as_bytes());
            hasher.finish()
        }
    };
    (hash % SLOTS as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::{KeptLabel, LabelNumber, LabelTable, LabelValue, MAX_LABELS, MAX_TEXT_BYTES};

    #[test]
    fn each_label_has_one_number_and_the_rest_share_one() {
        let table = LabelTable::boxed();
        let number = |value| table.number(LabelValue::Integer(value));
        let numbers: Vec<_> = (0..MAX_LABELS as i128).map(number).collect();
        for (value, first) in (0..).zip(&numbers) {
            assert_eq!(number(value), *first);
            assert_eq!(table.label(*first), Some(&KeptLabel::Integer(value)));
        }
        // These begin their search at slots that are taken, and at empty ones.
        for value in [-1, 256, 512, i128::from(u64::MAX)] {
            assert_eq!(number(value), LabelNumber::OTHER);
        }
        assert_eq!(table.label(LabelNumber::OTHER), Some(&KeptLabel::Other));
        assert_eq!(table.label(LabelNumber::NONE), None);
    }

    #[test]
    fn an_integer_is_not_the_text_of_its_digits() {
        let table = LabelTable::boxed();
        let integer = table.number(LabelValue::Integer(7));
        let text = table.number(LabelValue::Text("7"));
        assert_ne!(integer, text);
        assert_eq!(table.number(LabelValue::Text(&String::from("7"))), text);
    }

    #[test]
    fn a_long_text_counts_by_its_beginning() {
        let table = LabelTable::boxed();
        let text = |end: &str| format!("{}{end}", "é".repeat(MAX_TEXT_BYTES / 2));
        let number = table.number(LabelValue::Text(&text("a")));
        assert_eq!(table.number(LabelValue::Text(&text("b"))), number);
        let kept = table.label(number);
        assert_eq!(kept, Some(&KeptLabel::Text(text("").into())));
    }

    #[test]
    fn threads_that_add_labels_at_once_agree_on_their_numbers() {
        let table = LabelTable::boxed();
        let numbers = || -> Vec<_> {
            // All of them begin their search at one slot.
            let labels = (0..MAX_LABELS as i128).map(|label| label * 512);
            labels
                .map(|label| table.number(LabelValue::Integer(label)))
                .collect()
        };
        let all = std::thread::scope(|scope| {
            let threads = [(); 4].map(|()| scope.spawn(numbers));
            threads.map(|thread| thread.join().unwrap())
        });
        assert!(all.iter().all(|numbers| *numbers == all[0]));
        assert!(!all[0].contains(&LabelNumber::OTHER));
    }
}
