//! Rules about launches that take longer than what they launch.

use super::candidate::FindingCandidate;
use super::host;
use super::host_time::HostTime;
use super::profile_facts::ProfileFacts;
use super::rule::FindingCheck;
use super::thresholds::{
    HOST_SHARE, KERNELS_PER_CALL, LAUNCH_BOUND_CALLS, MAIN_CAUSE_SHARE, MAX_MEDIAN_KERNEL,
    SHORT_KERNEL_LAUNCHES, SPAN_IDLE_SHARE,
};
use super::wording;
use crate::profile::{Function, KernelStats};
use crate::sorting::sort_by_key;

pub(super) fn launch_bound(rule: &FindingCheck, facts: &ProfileFacts<'_>) -> Vec<FindingCandidate> {
    rule.of_host_times(facts, |time| {
        let launches = Launches::for_function(facts, time)?;
        launches.are_many().then(|| {
            let evidence = format!(
                "{} idle: {} launches/call, median kernel {}",
                host::idle(facts, time),
                wording::mean(launches.kernels, launches.calls),
                wording::ns(launches.median_ns),
            );
            let advice = "replay it as a graph (CudaStream::begin_capture, CudaGraph::launch), or \
                          fuse kernels";
            (evidence, advice, launches.gain_ns)
        })
    })
}

pub(super) fn short_kernels(
    rule: &FindingCheck,
    facts: &ProfileFacts<'_>,
) -> Vec<FindingCandidate> {
    rule.of_host_times(facts, |time| {
        let launches = &time.launches;
        let launch_ns = launches.ns / launches.calls.max(1);
        let (median_ns, gain_ns) = match time.function {
            Some(_) => {
                let found = Launches::for_function(facts, time)?;
                if found.are_many() {
                    return None;
                }
                (found.median_ns, found.gain_ns)
            }
            None => {
                let all = facts.profile.kernels.iter().map(|kernel| (kernel, 1.0));
                (median_kernel(all)?, time.queueing.saved_ns)
            }
        };
        let applies = SHORT_KERNEL_LAUNCHES.reached(launches.calls as f64)
            && median_ns < launch_ns
            && HOST_SHARE.reached_by(gain_ns, facts.profile.wall_ns);
        applies.then(|| {
            let evidence = format!(
                "{} idle: median kernel {}, its launch {}, {} launches",
                host::idle(facts, time),
                wording::ns(median_ns),
                wording::ns(launch_ns),
                wording::count(launches.calls),
            );
            let advice = "do more per launch: a larger batch, fused kernels, or a CudaGraph of \
                          several launches";
            (evidence, advice, gain_ns)
        })
    })
}

/// The launches of a function whose idle time they mostly explain.
struct Launches {
    calls: u64,
    kernels: u64,
    median_ns: u64,
    gain_ns: u64,
    wall_ns: u64,
}

impl Launches {
    /// `None` if something else explains the idle time, if there is little of it, or if graphs
    /// launch most kernels.
    fn for_function(facts: &ProfileFacts<'_>, time: &HostTime) -> Option<Self> {
        let at = time.function?;
        let function = facts.function(Some(at))?;
        let work = &function.activity;
        let idle_ns = time.idle_ns?;
        let applies = SPAN_IDLE_SHARE.reached_by(idle_ns, idle_ns.saturating_add(work.busy_ns?))
            && MAIN_CAUSE_SHARE.reached_by(time.queueing.saved_ns, idle_ns);
        if !applies {
            return None;
        }
        Some(Self {
            calls: work.busy_calls,
            kernels: work.launches,
            median_ns: median_kernel(kernels_of(&facts.parts(at)))?,
            gain_ns: idle_ns.saturating_sub(time.waits.saved_ns),
            wall_ns: facts.profile.wall_ns,
        })
    }

    /// Whether each call launches so many short kernels that a graph is worth it.
    fn are_many(&self) -> bool {
        KERNELS_PER_CALL.reached_by(self.kernels, self.calls)
            && self.median_ns as f64 <= MAX_MEDIAN_KERNEL.0
            && LAUNCH_BOUND_CALLS.reached(self.calls as f64)
            && HOST_SHARE.reached_by(self.gain_ns, self.wall_ns)
    }
}

/// The kernels of functions, each with the share of its launches that counts.
fn kernels_of<'p>(
    parts: &'p [(usize, &'p Function, f64)],
) -> impl Iterator<Item = (&'p KernelStats, f64)> {
    parts.iter().flat_map(|(_, function, share)| {
        let kernels = function.activity.kernels.iter();
        kernels.map(|kernel| (kernel, *share))
    })
}

/// Median, by launches, of the median times of kernels, ns; `None` if graphs launched most of them.
fn median_kernel<'p>(kernels: impl Iterator<Item = (&'p KernelStats, f64)>) -> Option<u64> {
    let (mut by_time, mut launched, mut in_graphs) = (Vec::new(), 0.0, 0.0);
    for (kernel, share) in kernels {
        let calls = kernel.times.calls as f64 * share;
        by_time.push((kernel.times.p50_ns, calls));
        launched += calls;
        in_graphs += kernel.graph_calls as f64 * share;
    }
    if in_graphs * 2.0 > launched {
        return None;
    }
    sort_by_key(&mut by_time, |(ns, _)| *ns);
    let mut before = 0.0;
    let median = by_time.into_iter().find(|(_, calls)| {
        before += calls;
        before * 2.0 >= launched
    });
    median.map(|(ns, _)| ns)
}
