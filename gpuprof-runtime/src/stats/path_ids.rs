//! Call paths, numbered for the whole process: threads, the resolver and the report name a node of
//! the call tree by its path's number.
//!
//! A path is added when a thread first enters a site from a given path. After that only its number
//! travels.

use rustc_hash::FxHashMap;

/// The path of code outside every span.
pub(crate) const ROOT: u32 = 0;

/// Paths of a process; calls on further paths are counted as dropped. A path takes about 50 bytes
/// here, and its counters on each thread that takes it: a runaway recursion ends at some 30 MB a
/// thread.
const MAX_PATHS: usize = 1 << 16;

/// One path: a site, called on another path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallPath {
    pub(crate) parent: u32,
    /// Meaningless for [`ROOT`].
    pub(crate) site: u32,
    /// Whether the same site is further up the path: its time is then part of that call's total.
    pub(crate) recursive: bool,
}

/// All paths. The index is the number; a parent comes before its children.
#[derive(Debug)]
pub(crate) struct CallPaths {
    numbers: FxHashMap<(u32, u32), u32>,
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
            numbers: FxHashMap::default(),
            list: vec![root],
        }
    }

    /// The number of the path of `site` called on `parent`. `None`: there are too many.
    pub(crate) fn intern_child(&mut self, parent: u32, site: u32) -> Option<u32> {
        if let Some(&path) = self.numbers.get(&(parent, site)) {
            return Some(path);
        }
        if self.list.len() >= MAX_PATHS {
            return None;
        }
        let path = u32::try_from(self.list.len()).ok()?;
        let recursive = self.ancestors(parent).any(|above| above.site == site);
        self.list.push(CallPath {
            parent,
            site,
            recursive,
        });
        self.numbers.insert((parent, site), path);
        Some(path)
    }

    fn ancestors(&self, path: u32) -> impl Iterator<Item = CallPath> + '_ {
        let mut next = path;
        std::iter::from_fn(move || {
            let path = *self.list.get(next as usize).filter(|_| next != ROOT)?;
            next = path.parent;
            Some(path)
        })
    }

    pub(crate) fn list(&self) -> &[CallPath] {
        &self.list
    }
}
