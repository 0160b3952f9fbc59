//! Call paths, numbered for the whole process: threads, the resolver and the report name a node of
//! the call tree by its path's number.
//!
//! A path is added when a thread first enters a site from a given path, or with a new label. After
//! that only its number travels.

use rustc_hash::FxHashMap;

use crate::site::labels::LabelNumber;

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
    /// That of the calls on this path.
    pub(crate) label: LabelNumber,
    /// Whether the same site is further up the path: its time is then part of that call's total.
    pub(crate) recursive: bool,
}

/// What identifies a path: the enclosing path, the site, and the label of the calls. One word,
/// which each call compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PathKey(u64);

impl PathKey {
    /// No path has it.
    pub(crate) const NO_PATH: Self = Self(u64::MAX);

    #[inline]
    pub(crate) fn new(parent: u32, site: u32, label: LabelNumber) -> Self {
        // Numbers of paths have 16 bits.
        Self(u64::from(parent) << 48 | u64::from(label.bits()) << 32 | u64::from(site))
    }

    /// Six bits, which differ for neighbouring sites, parents and labels (Knuth, The Art of
    /// Computer Programming, 6.4: multiplication by the golden ratio).
    #[inline]
    pub(crate) fn hash(self) -> usize {
        (self.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58) as usize
    }

    fn parent(self) -> u32 {
        (self.0 >> 48) as u32
    }

    pub(crate) fn site(self) -> u32 {
        self.0 as u32
    }

    fn label(self) -> LabelNumber {
        LabelNumber::from_bits((self.0 >> 32) as u16)
    }
}

/// All paths. The index is the number; a parent comes before its children.
#[derive(Debug)]
pub(crate) struct CallPaths {
    numbers: FxHashMap<PathKey, u32>,
    list: Vec<CallPath>,
}

impl CallPaths {
    pub(crate) fn new() -> Self {
        let root = CallPath {
            parent: ROOT,
            site: u32::MAX,
            label: LabelNumber::NONE,
            recursive: false,
        };
        Self {
            numbers: FxHashMap::default(),
            list: vec![root],
        }
    }

    /// The number of the path with this key. `None`: there are too many.
    pub(crate) fn intern(&mut self, key: PathKey) -> Option<u32> {
        if let Some(&path) = self.numbers.get(&key) {
            return Some(path);
        }
        if self.list.len() >= MAX_PATHS {
            return None;
        }
        let path = u32::try_from(self.list.len()).ok()?;
        let (parent, site) = (key.parent(), key.site());
        let recursive = self.ancestors(parent).any(|above| above.site == site);
        self.list.push(CallPath {
            parent,
            site,
            label: key.label(),
            recursive,
        });
        self.numbers.insert(key, path);
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
