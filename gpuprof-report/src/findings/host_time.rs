//! What the host did while the GPU was idle: the calls that each piece of advice would remove.
//!
//! The model of every rule about the host: without some calls the host is faster by their time, but
//! the program at most by the time for which the GPU was idle, as the GPU still has to do its work.

use std::collections::HashMap;

use super::profile_index::{ProfileIndex, scaled};
use super::thresholds::FIRST_CALL_RATIO;
use crate::profile::{ApiKind, ApiStats, Function};

/// CUDA calls of one kind.
#[derive(Clone, Debug, Default)]
pub(super) struct ApiCallSums {
    pub(super) calls: u64,
    /// Time in these calls, over all threads, ns.
    pub(super) ns: u64,
    /// The part of it that removing them can save, ns.
    pub(super) saved_ns: u64,
    /// The function of CUDA with the most time.
    pub(super) longest: Option<(String, u64)>,
}

impl ApiCallSums {
    fn add(&mut self, name: &str, calls: u64, ns: u64, limit_ns: u64) {
        self.calls = self.calls.saturating_add(calls);
        self.ns = self.ns.saturating_add(ns);
        self.saved_ns = self.saved_ns.saturating_add(ns.min(limit_ns));
        if self
            .longest
            .as_ref()
            .is_none_or(|(_, longest)| ns > *longest)
        {
            self.longest = Some((name.to_owned(), ns));
        }
    }

    fn limited(mut self, limit_ns: u64) -> Self {
        self.saved_ns = self.saved_ns.min(limit_ns);
        self
    }
}

/// The host's time in the calls of a function and its nested functions, or outside of every
/// function.
#[derive(Clone, Debug, Default)]
pub(super) struct HostTime {
    /// Index of the function; `None` for what is outside of every function.
    pub(super) function: Option<usize>,
    /// Idle time in the function's GPU spans, less gpuprof's own overhead and a slow first call,
    /// and at most that between the activities of the run, ns; `None` if it is unknown.
    pub(super) idle_ns: Option<u64>,
    /// The calls that wait for the GPU, other than in a function that is marked `cpu`.
    pub(super) waits: ApiCallSums,
    /// The calls that queue work: launches of kernels and graphs, and memsets.
    pub(super) queueing: ApiCallSums,
    /// Of these, the launches of kernels.
    pub(super) launches: ApiCallSums,
    pub(super) copies: ApiCallSums,
    /// Allocations and frees.
    pub(super) memory: ApiCallSums,
    /// The calls that load a module.
    pub(super) loads: ApiCallSums,
    /// CPU time in the function outside of CUDA calls and gpuprof, ns.
    pub(super) outside_cuda_ns: u64,
}

/// The host's time in each function and outside of them; empty if the idle time is unknown.
pub(super) fn host_times(index: &ProfileIndex<'_>) -> Vec<HostTime> {
    let Some(run) = index.idle else {
        return Vec::new();
    };
    let limits: Vec<u64> = index
        .functions()
        .map(|(at, _)| limit_ns(index, at).unwrap_or(run.total_ns))
        .collect();
    let functions = index.functions().map(|(at, function)| {
        let limit_ns = limits.get(at).copied().unwrap_or(0);
        let mut time = HostTime {
            function: Some(at),
            idle_ns: span_idle_ns(index, at, function).map(|ns| ns.min(run.between_ns)),
            ..HostTime::default()
        };
        let mut in_cuda_ns: u64 = 0;
        for (inner, part, share) in index.parts(at) {
            let inner_limit = limits.get(inner).copied().unwrap_or(0);
            for call in &part.activity.api {
                let (calls, ns) = (
                    scaled(call.times.calls, share),
                    scaled(call.times.total_ns, share),
                );
                in_cuda_ns = in_cuda_ns.saturating_add(ns);
                let limit = scaled(inner_limit, share).min(limit_ns);
                time.add(call, (calls, ns), limit, part.cpu_only);
            }
        }
        time.outside_cuda_ns = (function.cpu.total_ns)
            .saturating_sub(in_cuda_ns)
            .saturating_sub(overhead_ns(index, at, function))
            .saturating_sub(first_call_excess_ns(function));
        time.limited(limit_ns, run.between_ns)
    });
    let mut times: Vec<HostTime> = functions.collect();
    times.push(outside(index, run.total_ns, run.between_ns));
    times
}

impl HostTime {
    fn add(&mut self, call: &ApiStats, (calls, ns): (u64, u64), limit: u64, is_cpu: bool) {
        match call.kind {
            ApiKind::Sync if !is_cpu => self.waits.add(&call.name, calls, ns, limit),
            ApiKind::Launch => {
                self.launches.add(&call.name, calls, ns, limit);
                self.queueing.add(&call.name, calls, ns, limit);
            }
            ApiKind::Graph | ApiKind::Memset => {
                self.queueing.add(&call.name, calls, ns, limit);
            }
            ApiKind::Copy => self.copies.add(&call.name, calls, ns, limit),
            ApiKind::Alloc | ApiKind::Free => self.memory.add(&call.name, calls, ns, limit),
            // Look-ups of kernels are of this kind too.
            ApiKind::Module if call.name.contains("Load") => {
                self.loads.add(&call.name, calls, ns, limit);
            }
            _ => (),
        }
    }

    fn limited(mut self, limit_ns: u64, between_ns: u64) -> Self {
        let limit_between = limit_ns.min(between_ns);
        self.waits = self.waits.limited(limit_between);
        self.queueing = self.queueing.limited(limit_between);
        self.launches = self.launches.limited(limit_between);
        self.copies = self.copies.limited(limit_ns);
        self.memory = self.memory.limited(limit_ns);
        self.loads = self.loads.limited(limit_ns);
        self
    }
}

/// The calls outside of every function: those of the program less those of the functions.
fn outside(index: &ProfileIndex<'_>, total_ns: u64, between_ns: u64) -> HostTime {
    let mut inside: HashMap<&str, (u64, u64)> = HashMap::new();
    for (_, function) in index.functions() {
        for call in &function.activity.api {
            let sums = inside.entry(&call.name).or_default();
            sums.0 = sums.0.saturating_add(call.times.calls);
            sums.1 = sums.1.saturating_add(call.times.total_ns);
        }
    }
    let mut time = HostTime::default();
    for call in &index.profile.api {
        let (calls, ns) = inside.get(call.name.as_str()).copied().unwrap_or((0, 0));
        let rest = (
            call.times.calls.saturating_sub(calls),
            call.times.total_ns.saturating_sub(ns),
        );
        if rest.0 > 0 {
            time.add(call, rest, total_ns, false);
        }
    }
    time.limited(total_ns, between_ns)
}

/// Idle time that advice about a function can save at most: that of its own GPU spans, or of those
/// of functions around all its calls. `None` if neither is known.
fn limit_ns(index: &ProfileIndex<'_>, at: usize) -> Option<u64> {
    let calls = index.function(Some(at))?.calls;
    let is_around_all =
        |outer: &usize| index.is_inside(*outer, at) && index.nesting.runs(*outer, at) >= calls;
    let around = index.nesting.around(at).filter(is_around_all);
    let known = around.chain([at]).filter_map(|outer| {
        let function = index.function(Some(outer))?;
        span_idle_ns(index, outer, function)
    });
    known.min()
}

/// Idle time in a function's GPU spans, less gpuprof's own overhead and a slow first call, ns.
fn span_idle_ns(index: &ProfileIndex<'_>, at: usize, function: &Function) -> Option<u64> {
    let idle = function.activity.idle_ns?.min(index.idle?.total_ns);
    let rest = idle
        .saturating_sub(overhead_ns(index, at, function))
        .saturating_sub(first_call_excess_ns(function));
    Some(rest)
}

/// Estimated time that gpuprof itself took in the calls of a function, ns.
fn overhead_ns(index: &ProfileIndex<'_>, at: usize, function: &Function) -> u64 {
    let per_call = index.profile.diagnostics.overhead_ns_per_call.unwrap_or(0);
    let nested = index.nesting.inside(at).filter(|(inner, _)| *inner != at);
    let spans = nested.fold(function.calls, |sum, (_, runs)| sum.saturating_add(runs));
    per_call.saturating_mul(spans)
}

/// What a slow first call took beyond the median, ns; another rule is about that time.
pub(super) fn first_call_excess_ns(function: &Function) -> u64 {
    let median = function.cpu.p50_ns;
    let first = function.activity.first_call_ns.unwrap_or(0);
    if FIRST_CALL_RATIO.reached_by(first, median) {
        first.saturating_sub(median)
    } else {
        0
    }
}
