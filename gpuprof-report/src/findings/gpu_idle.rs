//! The rule that looks at the idle time of the whole run.

use super::candidate::{About, FindingCandidate};
use super::profile_facts::ProfileFacts;
use super::rule::FindingCheck;
use super::run_idle::RunIdleTime;
use super::thresholds::{ENDS_SHARE, MAX_GPU_USE, MIN_COPY_ONLY, MIN_ENDS, MIN_HOST_PART};
use super::wording;
use crate::sorting::sort_by_key;

pub(super) fn gpu_idle(rule: &FindingCheck, facts: &ProfileFacts<'_>) -> Vec<FindingCandidate> {
    let Some(idle) = &facts.idle else {
        return Vec::new();
    };
    let wall_ns = facts.profile.wall_ns;
    let ends_ns = idle.ends_ns();
    let active_ns = wall_ns.saturating_sub(ends_ns);
    let candidate = |about, gain_ns, text| rule.candidate(facts, about, None, gain_ns, text);
    let mut found = Vec::new();
    // On the simulated device the host's time is that of the simulation.
    let is_simulated = facts.profile.devices.iter().any(|device| device.simulated);
    let are_long = MIN_ENDS.reached(ends_ns as f64) && ENDS_SHARE.reached_by(ends_ns, wall_ns);
    if are_long && !is_simulated {
        let evidence = format!(
            "GPU idle {}: {} of the run before and after its work",
            wording::percent(idle.total_ns, wall_ns),
            wording::percent(ends_ns, wall_ns),
        );
        let advice = "measure the steady part alone with a gpuprof::Session";
        found.push(candidate(About::Separate, 0, (evidence, advice.to_owned())));
    }
    if idle.between_ns as f64 >= (1.0 - MAX_GPU_USE.0) * active_ns as f64 {
        let text = (evidence(idle, wall_ns), advice(facts, idle));
        found.push(candidate(About::WholeIdle, idle.between_ns, text));
    }
    found
}

fn evidence(idle: &RunIdleTime, wall_ns: u64) -> String {
    let records = &idle.records;
    let mut parts = [
        (records.idle_host_ns, "waiting for the host"),
        (records.idle_launch_ns, "in launches"),
        (records.idle_queued_ns, "queued"),
        (idle.ends_ns(), "before and after its work"),
    ];
    sort_by_key(&mut parts, |(ns, _)| std::cmp::Reverse(*ns));
    let copies = Some((records.copy_only_ns, "only copies"))
        .filter(|(ns, _)| MIN_COPY_ONLY.reached_by(*ns, wall_ns));
    let parts: Vec<String> = parts
        .into_iter()
        .take(2)
        .chain(copies)
        .filter(|(ns, _)| *ns > 0)
        .map(|(ns, what)| format!("{} {what}", wording::percent(ns, wall_ns)))
        .collect();
    format!(
        "GPU idle {}: {}",
        wording::percent(idle.total_ns, wall_ns),
        parts.join(", "),
    )
}

/// Against waiting for the host, in launches, and queued.
const ADVICE: [&str; 3] = [
    "annotate the host code between launches; move it to another thread or the GPU",
    "queue work ahead, or replay it: CudaStream::begin_capture, CudaGraph::launch",
    "remove CudaStream::wait between streams where nothing depends, or fuse short kernels",
];

fn advice(facts: &ProfileFacts<'_>, idle: &RunIdleTime) -> String {
    let records = &idle.records;
    let waits_for_host = records.idle_host_ns > records.idle_launch_ns.max(records.idle_queued_ns);
    let on_host = facts.longest_on_host();
    let explains = |ns| MIN_HOST_PART.reached_by(ns, records.idle_host_ns);
    if let Some((function, ns)) = on_host.filter(|(_, ns)| waits_for_host && explains(*ns)) {
        return format!(
            "speed up {}, {} on the host without GPU work, or run it while the GPU works",
            wording::name(&function.name),
            wording::ns(ns),
        );
    }
    let parts = [
        records.idle_host_ns,
        records.idle_launch_ns,
        records.idle_queued_ns,
    ];
    let longest = parts.into_iter().zip(ADVICE).max_by_key(|(ns, _)| *ns);
    longest.map_or("", |(_, advice)| advice).to_owned()
}
