//! Which calls of profiled functions are under way on a thread, by numbers that CUPTI hands back with every CUDA call made inside.
//!
//! Must not import span or report.

/// What is known of a call of a profiled function when it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    /// Its number.
    pub(crate) call: u64,
    /// That of the call around it; 0 for none.
    pub(crate) parent: u64,
    pub(crate) site: u32,
    /// No call of the same site is around it.
    pub(crate) outermost: bool,
    /// Its pair of events was handed over.
    pub(crate) timed: bool,
    pub(crate) cpu_ns: u64,
    /// The site's first call in the process.
    pub(crate) first: bool,
    /// The window it is booked in.
    pub(crate) epoch: u32,
}
