//! The distinct stacks of CUDA calls, by number: addresses only, not looked up yet.

use std::num::NonZeroU16;
use std::sync::Arc;

use parking_lot::Mutex;
use rustc_hash::{FxBuildHasher, FxHashMap};

/// The innermost frames of a stack that are recorded, and as many of Python. Stacks that differ
/// only further out are one.
pub(crate) const MAX_FRAMES: usize = 64;

/// Distinct stacks: 2 MiB, or 4 MiB with Python. Further ones are [`StackId::OTHERS`].
pub(crate) const MAX_STACKS: usize = 1 << 12;

/// The number of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct StackId(NonZeroU16);

impl StackId {
    /// All stacks that do not fit.
    pub(crate) const OTHERS: Self = Self(NonZeroU16::MAX);

    /// As events of the time line hold it: 0 is no stack.
    pub(crate) fn to_number(id: Option<Self>) -> u16 {
        id.map_or(0, |id| id.0.get())
    }

    pub(crate) fn from_number(number: u16) -> Option<Self> {
        NonZeroU16::new(number).map(Self)
    }

    fn index(self) -> usize {
        usize::from(self.0.get()) - 1
    }
}

/// All stacks of the process.
pub(crate) static STACKS: StackTable = StackTable::new();

#[derive(Debug)]
pub(crate) struct StackTable(Mutex<NumberedStacks>);

#[derive(Debug)]
struct NumberedStacks {
    ids: FxHashMap<Arc<[usize]>, StackId>,
    list: Vec<Arc<[usize]>>,
}

impl StackTable {
    const fn new() -> Self {
        Self(Mutex::new(NumberedStacks {
            ids: FxHashMap::with_hasher(FxBuildHasher),
            list: Vec::new(),
        }))
    }

    /// The number of a stack, whose innermost frame comes first; frames of Python follow the native
    /// ones.
    pub(super) fn insert(&self, frames: &[usize]) -> StackId {
        let NumberedStacks { ids, list } = &mut *self.0.lock();
        if let Some(&known) = ids.get(frames) {
            return known;
        }
        let number = u16::try_from(list.len() + 1).ok().and_then(NonZeroU16::new);
        let Some(id) = number.filter(|_| list.len() < MAX_STACKS).map(StackId) else {
            return StackId::OTHERS;
        };
        let frames: Arc<[usize]> = frames.into();
        ids.insert(Arc::clone(&frames), id);
        list.push(frames);
        id
    }

    /// The frames of a stack, the innermost first; `None` of [`StackId::OTHERS`].
    pub(crate) fn frames(&self, id: StackId) -> Option<Arc<[usize]>> {
        self.0.lock().list.get(id.index()).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_STACKS, StackId, StackTable};

    #[test]
    fn equal_stacks_have_one_number_and_the_table_is_bounded() {
        let table = StackTable::new();
        let first = table.insert(&[1, 2]);
        let second = table.insert(&[1, 2, 3]);
        assert_ne!(first, second);
        assert_eq!(table.insert(&[1, 2]), first);
        assert_eq!(table.frames(second).as_deref(), Some(&[1, 2, 3][..]));
        for stack in 2..MAX_STACKS {
            assert_ne!(table.insert(&[10 + stack]), StackId::OTHERS);
        }
        assert_eq!(table.insert(&[7]), StackId::OTHERS);
        assert_eq!(table.insert(&[1, 2]), first);
        assert_eq!(table.frames(StackId::OTHERS), None);
    }

    #[test]
    fn a_number_is_read_as_it_was_written() {
        for id in [None, Some(StackId::OTHERS), StackId::from_number(1)] {
            assert_eq!(StackId::from_number(StackId::to_number(id)), id);
        }
    }
}
