//! Whether PC sampling knows the kernels of the program. It loses them if records of kernels are
//! enabled while a launch runs, or were disabled before one, unless it has sampled before. So it is
//! in libcupti 13.0 (H100, driver 580.159.04).

pub(crate) struct KnownKernels {
    /// The launches that run.
    running: u64,
    /// All that have begun.
    begun: u64,
    were_recorded: bool,
    were_sampled: bool,
    are_lost: bool,
}

impl KnownKernels {
    pub(crate) const fn new() -> KnownKernels {
        KnownKernels {
            running: 0,
            begun: 0,
            were_recorded: false,
            were_sampled: false,
            are_lost: false,
        }
    }

    pub(crate) fn are_lost(&self) -> bool {
        self.are_lost
    }

    /// The launches that run, and all that have begun.
    pub(crate) fn launches(&self) -> (u64, u64) {
        (self.running, self.begun)
    }

    /// A launch begins while kernels are recorded and sampled, or not.
    pub(crate) fn begin(&mut self, are_recorded: bool, are_sampled: bool) {
        self.running += 1;
        self.begun += 1;
        self.were_sampled |= are_sampled && !self.are_lost;
        self.are_lost |= self.were_recorded && !are_recorded && !self.were_sampled;
    }

    /// A launch has ended.
    pub(crate) fn end(&mut self) {
        self.running -= 1;
    }

    /// Records of kernels are enabled.
    pub(crate) fn record(&mut self, beside_launches: bool) {
        self.were_recorded = true;
        self.are_lost |= beside_launches && !self.were_sampled;
    }
}
