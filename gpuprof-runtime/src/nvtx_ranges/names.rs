//! The rows of ranges: one for each name, as far as there are not too many.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::RwLock;
use rustc_hash::FxHashMap;

use crate::collector::collector;
use crate::os::own_work::OwnWork;
use crate::site::dynamic_sites::{self, OTHERS_NAME};
use crate::site::{Meta, Site};
use gpuprof_report::profile::NVTX_MODULE;

/// Names of one domain that differ in their numbers alone and have rows of their own.
const MAX_NUMBERED: u32 = 64;
/// Bytes of a name.
const MAX_NAME: usize = 300;

/// What PyTorch's `emit_nvtx` adds to the name of an operation.
const SUFFIXES: [&str; 3] = [", seq = ", ", op_id = ", ", sizes = "];

/// The row of a range.
#[derive(Clone, Copy, Debug)]
pub struct RangeSite(pub(super) &'static Site);

/// Ranges for whose names there is no row.
static OTHER_RANGES: AtomicU64 = AtomicU64::new(0);

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
            let add = |name: &str| add_site(&format!("{}{name}", self.prefix), is_async);
            let has_room = !dynamic_sites::is_full();
            let known = names.find(name);
            known.or_else(|| has_room.then(|| names.add(name, add)))
        });
        site.unwrap_or_else(|| other(is_async))
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
    add_site("", is_async)
}

/// What a report says of these.
fn notes() -> Vec<String> {
    let others = OTHER_RANGES.load(Relaxed);
    let note = format!(
        "{others} NVTX ranges are one row, {OTHERS_NAME}: a program has rows for 4,096 names"
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

    fn add(&mut self, name: &str, add: impl Fn(&str) -> RangeSite) -> RangeSite {
        let mut row: Box<str> = name.into();
        if let Some(template) = without_numbers(name) {
            let own = self.numbered.entry(template.clone()).or_insert(0);
            if *own < MAX_NUMBERED {
                *own += 1;
            } else {
                row = template;
            }
        }
        let site = add(&row);
        self.known.insert(row, site);
        site
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
            let sites = steps.map(|name| {
                let known = names.find(&name);
                known.unwrap_or_else(|| names.add(&name, row))
            });
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
    fn a_long_name_is_cut_between_two_characters() {
        assert_eq!(cut(&"ä".repeat(200)).len(), 300);
        assert_eq!(cut(&format!("a{}", "ä".repeat(200))).len(), 299);
    }
}
