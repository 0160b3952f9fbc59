//! The rows of ranges: one for each name, as far as there are not too many.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::RwLock;
use rustc_hash::FxHashMap;

use crate::collector::collector;
use crate::os::own_work::OwnWork;
use crate::site::{Meta, Site, dynamic_sites};
use gpuprof_report::profile::NVTX_MODULE;

/// Names of one domain that differ in their numbers alone and have rows of their own.
const MAX_NUMBERED: u32 = 64;
/// Names of one domain that have rows.
const MAX_NAMES: usize = 4_096;
/// Bytes of a name.
const MAX_NAME: usize = 300;

/// What PyTorch's `emit_nvtx` adds to the name of an operation.
const SUFFIXES: [&str; 3] = [", seq = ", ", op_id = ", ", sizes = "];

/// The row of a range.
#[derive(Clone, Copy, Debug)]
pub struct RangeSite(pub(super) &'static Site);

/// The rows of ranges for whose names there is no room: pushed ones, and started ones.
static OTHERS: [OnceLock<RangeSite>; 2] = [const { OnceLock::new() }; 2];
/// How many there were.
static OTHER_RANGES: AtomicU64 = AtomicU64::new(0);
const OTHERS_NAME: &str = "(other ranges)";

/// An NVTX domain.
#[derive(Debug)]
pub struct Domain {
    /// Before names, as Nsight Systems shows them; empty for the default domain.
    prefix: String,
    names: RwLock<[RangeNames; 2]>,
}

/// Ranges of one kind: pushed, or started.
#[derive(Debug, Default)]
struct RangeNames {
    known: FxHashMap<Box<str>, RangeSite>,
    /// Names with a row of their own, by what they are without their numbers.
    numbered: FxHashMap<Box<str>, u32>,
}

impl Domain {
    /// The domain of this name; the default one has none.
    #[must_use]
    pub fn new(name: Option<&str>) -> Self {
        // Set by the first domain, to the same.
        let _ = collector().layer_notes.set(notes);
        Self {
            prefix: name.map_or_else(String::new, |name| format!("{}:", cut(name))),
            names: RwLock::default(),
        }
    }

    /// The row of pushed ranges of this name.
    #[must_use]
    pub fn pushed(&self, name: &str) -> RangeSite {
        self.site(name, false)
    }

    /// The row of started ranges of this name.
    #[must_use]
    pub fn started(&self, name: &str) -> RangeSite {
        self.site(name, true)
    }

    /// The list of names is locked: an allocator of the program's must not come back to it.
    fn site(&self, name: &str, is_async: bool) -> RangeSite {
        let _own = OwnWork::begin();
        let name = match cut(without_suffix(name)) {
            "" => "(unnamed range)",
            name => name,
        };
        let names = self.names.read();
        let [pushed, started] = &*names;
        let known = if is_async { started } else { pushed }.find(name);
        drop(names);
        let site = known.or_else(|| {
            let mut names = self.names.write();
            let [pushed, started] = &mut *names;
            let names = if is_async { started } else { pushed };
            let add = |name: &str| self.add(name, is_async);
            names.find(name).or_else(|| names.add(name, add))
        });
        site.unwrap_or_else(|| other(is_async))
    }

    /// `None`: there is no room.
    fn add(&self, name: &str, is_async: bool) -> Option<RangeSite> {
        if dynamic_sites::is_full() {
            return None;
        }
        Some(add_site(&format!("{}{name}", self.prefix), is_async))
    }
}

fn add_site(name: &str, is_async: bool) -> RangeSite {
    // Kept as the site is.
    let name = Box::leak(Box::<str>::from(name));
    RangeSite(dynamic_sites::add(Meta {
        // No stream is a range's: CUPTI says which kernels it launches.
        cpu: true,
        is_async,
        ..Meta::named(name, NVTX_MODULE, "", 0)
    }))
}

/// The row of a range for whose name there is no room, which is counted.
#[cold]
fn other(is_async: bool) -> RangeSite {
    OTHER_RANGES.fetch_add(1, Relaxed);
    let [pushed, started] = &OTHERS;
    let row = if is_async { started } else { pushed };
    *row.get_or_init(|| add_site(OTHERS_NAME, is_async))
}

/// What a report says of these.
fn notes() -> Vec<String> {
    let others = OTHER_RANGES.load(Relaxed);
    let note = format!(
        "{others} NVTX ranges are one row, {OTHERS_NAME}: a domain has rows for {MAX_NAMES} names, \
         and a program for 4,096"
    );
    (others > 0).then_some(note).into_iter().collect()
}

impl RangeNames {
    fn find(&self, name: &str) -> Option<RangeSite> {
        self.known.get(name).copied().or_else(|| {
            let template = without_numbers(name)?;
            let own = self.numbered.get(&*template).copied().unwrap_or(0);
            let site = self.known.get(&*template);
            site.copied().filter(|_| own >= MAX_NUMBERED)
        })
    }

    /// `None`: there is no room.
    fn add(&mut self, name: &str, add: impl Fn(&str) -> Option<RangeSite>) -> Option<RangeSite> {
        if self.known.len() >= MAX_NAMES {
            return None;
        }
        let mut row: Box<str> = name.into();
        if let Some(template) = without_numbers(name) {
            let own = self.numbered.entry(template.clone()).or_insert(0);
            if *own < MAX_NUMBERED {
                *own += 1;
            } else {
                row = template;
            }
        }
        let site = add(&row)?;
        self.known.insert(row, site);
        Some(site)
    }
}

fn cut(name: &str) -> &str {
    let mut ends = (0..=MAX_NAME.min(name.len())).rev();
    let end = ends.find(|end| name.is_char_boundary(*end));
    end.and_then(|end| name.get(..end)).unwrap_or(name)
}

fn without_suffix(name: &str) -> &str {
    let suffixes = SUFFIXES.iter().filter_map(|suffix| name.find(suffix));
    let first = suffixes.min().unwrap_or(name.len());
    name.get(..first).unwrap_or(name)
}

/// The name with `#` in the place of each number; `None` if it has none.
fn without_numbers(name: &str) -> Option<Box<str>> {
    let mut template = String::with_capacity(name.len());
    for character in name.chars() {
        if !character.is_ascii_digit() {
            template.push(character);
        } else if !template.ends_with('#') {
            template.push('#');
        }
    }
    (template.len() < name.len() || template != name).then(|| template.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_pytorch_adds_is_cut_off() {
        for (name, expected) in [
            (
                "aten::conv2d, seq = 7, op_id = 9, sizes = [[1, 2]]",
                "aten::conv2d",
            ),
            ("aten::mm, op_id = 9", "aten::mm"),
            ("forward, with a comma", "forward, with a comma"),
            ("", ""),
        ] {
            assert_eq!(without_suffix(name), expected);
        }
    }

    #[test]
    fn numbers_become_one_sign_each() {
        let template = |name| without_numbers(name).map(String::from);
        assert_eq!(
            template("epoch 3 step 1024").as_deref(),
            Some("epoch # step #")
        );
        assert_eq!(template("conv2d").as_deref(), Some("conv#d"));
        assert_eq!(template("forward"), None);
        assert_eq!(template("#"), None);
    }

    /// A row that the process does not list.
    fn row(name: &str) -> RangeSite {
        let name = Box::leak(Box::<str>::from(name));
        let site = Site::new(Meta::named(name, NVTX_MODULE, "", 0));
        RangeSite(Box::leak(Box::new(site)))
    }

    #[test]
    fn names_that_differ_in_numbers_alone_have_64_rows_and_one_more() {
        let mut names = RangeNames::default();
        let mut all = || -> Vec<String> {
            let steps = (0..200).map(|step| format!("step {step}"));
            let site = |name: String| {
                let known = names.find(&name);
                known.or_else(|| names.add(&name, |name| Some(row(name))))
            };
            let sites = steps.filter_map(site);
            sites.map(|site| site.0.name().to_owned()).collect()
        };
        let found = all();
        assert_eq!((&*found[0], &*found[63]), ("step 0", "step 63"));
        assert!(found[64..].iter().all(|name| name == "step #"));
        // Again, as they are.
        assert_eq!(all(), found);
        assert_eq!(names.known.len(), 64 + 1);
    }

    #[test]
    fn names_without_end_take_a_bounded_place() {
        let mut names = RangeNames::default();
        let has_room = |name: String, names: &mut RangeNames| {
            let known = names.find(&name);
            known
                .or_else(|| names.add(&name, |name| Some(row(name))))
                .is_some()
        };
        let letters = |at: usize| -> String {
            let digits = format!("{at:05}");
            digits
                .bytes()
                .map(|digit| char::from(digit - b'0' + b'a'))
                .collect()
        };
        for _ in 0..2 {
            for at in 0..5_000 {
                assert_eq!(has_room(letters(at), &mut names), at < MAX_NAMES, "{at}");
            }
        }
        // None of these has room any more, and nothing is kept of them.
        assert!((0..5_000).all(|at| !has_room(format!("{}-7", letters(at)), &mut names)));
        assert_eq!((names.known.len(), names.numbered.len()), (MAX_NAMES, 0));
        assert_eq!(cut(&"ä".repeat(200)).len(), 300);
    }
}
