//! What the client has enabled: kinds of activity (`CUpti_ActivityKind`), API functions and
//! callbacks.

use std::collections::{BTreeMap, BTreeSet};

use crate::result_codes::{Answer, Code};

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

pub(crate) struct Enabled {
    kinds: BTreeSet<u32>,
    /// Functions of the two API kinds that were switched on or off one by one since the kind was
    /// enabled.
    chosen: BTreeMap<(u32, u32), bool>,
    /// Domains and ids of the functions with an enabled callback.
    callbacks: BTreeSet<(u32, u32)>,
}

impl Enabled {
    pub(crate) const fn new() -> Enabled {
        Enabled {
            kinds: BTreeSet::new(),
            chosen: BTreeMap::new(),
            callbacks: BTreeSet::new(),
        }
    }

    /// Enables `kind`; an API kind with all its functions. INVALID_KIND if it is not simulated,
    /// NOT_COMPATIBLE for `KERNEL` together with `CONCURRENT_KERNEL`.
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

    /// Disables `kind`, and forgets which of its functions were chosen.
    pub(crate) fn disable(&mut self, kind: u32) -> Answer {
        if !SIMULATED.contains(&kind) {
            return Err(Code::INVALID_KIND);
        }
        self.kinds.remove(&kind);
        self.chosen.retain(|(of, _), _| *of != kind);
        Ok(())
    }

    /// Switches one function of an API kind on or off. If the kind is disabled, this has no effect,
    /// now or later, and is no error: so does CUPTI 13.0, although the header promises otherwise.
    pub(crate) fn choose(&mut self, api: u32, cbid: u32, on: bool) {
        if self.kinds.contains(&api) {
            self.chosen.insert((api, cbid), on);
        }
    }

    /// Whether calls of this function are recorded.
    pub(crate) fn has_call(&self, api: u32, cbid: u32) -> bool {
        self.has(api) && self.chosen.get(&(api, cbid)).copied().unwrap_or(true)
    }

    /// Enables or disables the callback for a function.
    pub(crate) fn set_callback(&mut self, domain: u32, cbid: u32, on: bool) {
        if on {
            self.callbacks.insert((domain, cbid))
        } else {
            self.callbacks.remove(&(domain, cbid))
        };
    }

    pub(crate) fn has_callback(&self, domain: u32, cbid: u32) -> bool {
        self.callbacks.contains(&(domain, cbid))
    }

    pub(crate) fn has(&self, kind: u32) -> bool {
        self.kinds.contains(&kind)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.kinds.is_empty() && self.callbacks.is_empty()
    }

    /// The kind of kernel records; `None` if kernels are not recorded.
    pub(crate) fn kernels(&self) -> Option<u32> {
        [CONCURRENT_KERNEL, KERNEL]
            .into_iter()
            .find(|kind| self.has(*kind))
    }
}
