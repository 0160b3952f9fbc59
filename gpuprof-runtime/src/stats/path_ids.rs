//! Chains of callers, numbered for the whole process: what threads, the resolver and the report name a place by.
//!
//! A path is made once, when a thread first enters a site from a given place; after that only its number travels.

use rustc_hash::FxHashMap;

/// The path of code outside every span.
pub(crate) const ROOT: u32 = 0;

/// Most paths of a process; what is called past it is counted as dropped. A path takes about 50 bytes here, and on each thread
/// that goes there what its counters take: a runaway recursion ends at some 30 MB a thread.
const MOST: usize = 1 << 16;

/// One path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallPath {
    pub(crate) parent: u32,
    /// Meaningless for [`ROOT`].
    pub(crate) site: u32,
    /// Whether the same site stands further up: its time is then already in the outer one's total.
    pub(crate) recursive: bool,
}

/// All paths; the index is the number, parents come before their children.
#[derive(Debug)]
pub(crate) struct CallPaths {
    known: FxHashMap<(u32, u32), u32>,
    list: Vec<CallPath>,
}

impl CallPaths {
    pub(crate) fn new() -> Self {
        let root = CallPath {
            parent: ROOT,
            site: u32::MAX,
            recursive: false,
        };
        Self {
            known: FxHashMap::default(),
            list: vec![root],
        }
    }

    /// The path of `site` called from `parent`; `None` when there are too many.
    pub(crate) fn child(&mut self, parent: u32, site: u32) -> Option<u32> {
        if let Some(&path) = self.known.get(&(parent, site)) {
            return Some(path);
        }
        if self.list.len() >= MOST {
            return None;
        }
        let path = u32::try_from(self.list.len()).ok()?;
        let recursive = self.ancestors(parent).any(|above| above.site == site);
        self.list.push(CallPath {
            parent,
            site,
            recursive,
        });
        self.known.insert((parent, site), path);
        Some(path)
    }

    fn ancestors(&self, from: u32) -> impl Iterator<Item = CallPath> + '_ {
        let mut at = from;
        std::iter::from_fn(move || {
            let path = *self.list.get(at as usize).filter(|_| at != ROOT)?;
            at = path.parent;
            Some(path)
        })
    }

    pub(crate) fn list(&self) -> &[CallPath] {
        &self.list
    }
}
