//! What the client wants recorded: kinds of activity (`CUpti_ActivityKind`), and of the API calls which. Must never know how a
//! record is written.

use std::collections::{BTreeMap, BTreeSet};

use crate::codes::{Answer, Code};

pub(crate) const MEMCPY: u32 = 1;
pub(crate) const MEMSET: u32 = 2;
pub(crate) const KERNEL: u32 = 3;
pub(crate) const DRIVER: u32 = 4;
pub(crate) const RUNTIME: u32 = 5;
pub(crate) const CONCURRENT_KERNEL: u32 = 10;
pub(crate) const MEMCPY2: u32 = 22;
pub(crate) const SYNCHRONIZATION: u32 = 38;
pub(crate) const EXTERNAL_CORRELATION: u32 = 39;
pub(crate) const MEMORY2: u32 = 49;

/// The kinds that are simulated.
const SIMULATED: [u32; 10] = [
    MEMCPY,
    MEMSET,
    KERNEL,
    DRIVER,
    RUNTIME,
    CONCURRENT_KERNEL,
    MEMCPY2,
    SYNCHRONIZATION,
    EXTERNAL_CORRELATION,
    MEMORY2,
];

/// What is enabled.
pub(crate) struct Enabled {
    kinds: BTreeSet<u32>,
    /// Of the two API kinds, which functions were switched on or off one by one since the kind was enabled.
    chosen: BTreeMap<(u32, u32), bool>,
    /// Functions that the subscriber is called back for, by domain.
    listened: BTreeSet<(u32, u32)>,
}

impl Enabled {
    /// Nothing.
    pub(crate) const fn new() -> Enabled {
        Enabled {
            kinds: BTreeSet::new(),
            chosen: BTreeMap::new(),
            listened: BTreeSet::new(),
        }
    }

    /// Switches `kind` on; an API kind with all of its functions. INVALID_KIND for one that is not simulated, NOT_COMPATIBLE for
    /// the serializing kind of kernels beside the concurrent one.
    pub(crate) fn enable(&mut self, kind: u32) -> Answer {
        if !SIMULATED.contains(&kind) {
            return Err(Code::INVALID_KIND);
        }
        let excluded = match kind {
            KERNEL => CONCURRENT_KERNEL,
            CONCURRENT_KERNEL => KERNEL,
            _ => 0,
        };
        if self.kinds.contains(&excluded) {
            return Err(Code::NOT_COMPATIBLE);
        }
        self.kinds.insert(kind);
        Ok(())
    }

    /// Switches `kind` off, and forgets which of its functions were chosen.
    pub(crate) fn disable(&mut self, kind: u32) -> Answer {
        if !SIMULATED.contains(&kind) {
            return Err(Code::INVALID_KIND);
        }
        self.kinds.remove(&kind);
        self.chosen.retain(|(of, _), _| *of != kind);
        Ok(())
    }

    /// Switches one function of an API kind on or off. Without the kind it has no effect, now or later, and no error says so:
    /// the header promises otherwise, but this is what CUPTI 13.0 does.
    pub(crate) fn choose(&mut self, api: u32, cbid: u32, on: bool) {
        if self.kinds.contains(&api) {
            self.chosen.insert((api, cbid), on);
        }
    }

    /// Whether calls of this function are recorded.
    pub(crate) fn has_call(&self, api: u32, cbid: u32) -> bool {
        self.has(api) && self.chosen.get(&(api, cbid)).copied().unwrap_or(true)
    }

    /// Has the subscriber called back for a function, or no more.
    pub(crate) fn listen(&mut self, domain: u32, cbid: u32, on: bool) {
        match on {
            true => self.listened.insert((domain, cbid)),
            false => self.listened.remove(&(domain, cbid)),
        };
    }

    /// Whether the subscriber is called back for a function.
    pub(crate) fn listens(&self, domain: u32, cbid: u32) -> bool {
        self.listened.contains(&(domain, cbid))
    }

    /// Whether `kind` is on.
    pub(crate) fn has(&self, kind: u32) -> bool {
        self.kinds.contains(&kind)
    }

    /// Whether nothing is on.
    pub(crate) fn is_empty(&self) -> bool {
        self.kinds.is_empty() && self.listened.is_empty()
    }

    /// The kind under which kernels are recorded; none where they are not.
    pub(crate) fn kernels(&self) -> Option<u32> {
        [CONCURRENT_KERNEL, KERNEL]
            .into_iter()
            .find(|kind| self.has(*kind))
    }
}
