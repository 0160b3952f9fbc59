//! Which kernels PC sampling knows. It loses all that it has not sampled before if records of
//! kernels are enabled while a launch runs, or were disabled. So it is in libcupti 13.0 (H100,
//! driver 580.159.04), if a launch follows. Here it loses those of later modules too.

use std::collections::BTreeSet;

pub(crate) struct KnownKernels {
    /// The launches that run.
    running: u64,
    /// All that have begun.
    begun: u64,
    are_recorded: bool,
    are_lost: bool,
    sampled: BTreeSet<&'static str>,
}

impl KnownKernels {
    pub(crate) const fn new() -> KnownKernels {
        KnownKernels {
            running: 0,
            begun: 0,
            are_recorded: false,
            are_lost: false,
            sampled: BTreeSet::new(),
        }
    }

    /// Whether a kernel is known that is launched, and sampled or not.
    pub(crate) fn knows(&mut self, kernel: &'static str, is_sampled: bool) -> bool {
        if is_sampled && !self.are_lost {
            self.sampled.insert(kernel);
        }
        !self.are_lost || self.sampled.contains(kernel)
    }

    /// The launches that run, and all that have begun.
    pub(crate) fn launches(&self) -> (u64, u64) {
        (self.running, self.begun)
    }

    /// A launch has begun.
    pub(crate) fn begin(&mut self) {
        self.running += 1;
        self.begun += 1;
    }

    /// A launch has ended.
    pub(crate) fn end(&mut self) {
        self.running -= 1;
    }

    /// Records of kernels are enabled.
    pub(crate) fn record(&mut self, beside_launches: bool) {
        self.are_recorded = true;
        self.are_lost |= beside_launches;
    }

    /// No client records kernels.
    pub(crate) fn record_no_more(&mut self) {
        self.are_lost |= std::mem::take(&mut self.are_recorded);
    }
}
