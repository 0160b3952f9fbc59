//! Why a function or a kernel is slow.

use std::iter;

use gpuprof_report::findings::names_kernel;
use gpuprof_report::peak_shares::{self, Bound, Unit};
use gpuprof_report::profile::{
    CounterValues, Function, KernelStats, MIN_COUNTER_SAMPLES, Metric, Profile,
};
use serde_json::{Value, json};

use super::answers::{findings_about, nested, rounded, value};
use super::names::{self, Subject};
use super::waits::{self, Detail};

/// Kernels of a function that are listed, longest total time first.
const MAX_KERNELS: usize = 20;

/// An answer for each function and kernel of this name, as a kernel has one on each device and
/// often the name of its function.
///
/// # Errors
/// If the name says none, or several.
pub(super) fn why(profile: &Profile, name: &str) -> Result<String, String> {
    let subjects = names::functions_and_kernels(profile, name)?;
    let answers: Vec<Value> = subjects
        .into_iter()
        .map(|subject| match subject {
            Subject::Function(index, function) => of_function(profile, index, function),
            Subject::Kernel(kernel) => of_kernel(profile, kernel),
        })
        .collect();
    Ok(json!({"wall_ns": profile.wall_ns, "answers": answers}).to_string())
}

fn of_function(profile: &Profile, index: usize, function: &Function) -> Value {
    let activity = &function.activity;
    let span = function.gpu.as_ref().map(|gpu| gpu.times.total_ns);
    let gpu_ns = activity.busy_ns.or(span).unwrap_or(function.gpu_nested_ns);
    let busy = profile.gpu_busy.iter().map(|busy| busy.busy_ns);
    let shares = peak_shares::of_function(function, &profile.devices);
    let kernels = activity.kernels.iter().take(MAX_KERNELS);
    let kernels: Vec<Value> = kernels
        .map(|kernel| {
            let mut answer = json!({"name": kernel.name, "total_ns": kernel.times.total_ns});
            waits::add(&mut answer, profile, &kernel.name, Detail::OF_FUNCTION);
            answer
        })
        .collect();
    let findings: Vec<Value> = findings_about(profile, Some(&function.name)).collect();
    let mut answer = json!({
        "function": function.name,
        "gpu_ns": gpu_ns,
        "gpu_share": share(gpu_ns, busy),
        "kernels": kernels,
        "nested_functions": nested(profile, index),
        "findings": findings,
    });
    let counters = activity.counters.as_deref();
    add_limits(&mut answer, counters, shares.as_deref(), None);
    let launches_kernels = !activity.kernels.is_empty() || profile.cupti.is_none();
    answer["know_more"] = if launches_kernels {
        let names = activity.kernels.iter().map(|kernel| &*kernel.name);
        know_more(profile, counters, shares.is_some(), names)
    } else {
        json!(["it launches no kernel itself: ask for a nested function"])
    };
    answer
}

fn of_kernel(profile: &Profile, kernel: &KernelStats) -> Value {
    let total_ns = kernel.times.total_ns;
    let kernels = profile.kernels.iter().map(|kernel| kernel.times.total_ns);
    let copies = profile.copies.iter().map(|copies| copies.times.total_ns);
    let shares = peak_shares::of_kernel(kernel, &profile.devices);
    let findings = profile.findings.iter();
    let findings: Vec<Value> = findings
        .filter(|finding| names_kernel(finding, kernel))
        .map(value)
        .collect();
    let mut answer = json!({
        "kernel": kernel.name,
        "device": kernel.device,
        "gpu_ns": total_ns,
        "gpu_share": share(total_ns, kernels.chain(copies)),
        "findings": findings,
    });
    let counters = kernel.counters.as_deref();
    add_limits(&mut answer, counters, shares.as_deref(), kernel.occupancy);
    waits::add(&mut answer, profile, &kernel.name, Detail::KERNEL);
    let names = iter::once(&*kernel.name);
    answer["know_more"] = know_more(profile, counters, shares.is_some(), names);
    answer
}

/// A part of the sum of all; `None` if that is 0.
fn share(part_ns: u64, all_ns: impl Iterator<Item = u64>) -> Option<f64> {
    let all_ns = all_ns.fold(0, u64::saturating_add);
    let share = part_ns as f64 / all_ns as f64;
    (all_ns > 0).then(|| rounded(share))
}

/// Adds what hardware counters say; where no unit is the limit also the occupancy: the achieved
/// one if it was measured, or else the theoretical one of the launch.
fn add_limits(
    answer: &mut Value,
    counters: Option<&CounterValues>,
    shares: Option<&[(Unit, f64)]>,
    theoretical: Option<f64>,
) {
    let shares = shares.unwrap_or_default();
    let share =
        |(unit, share): &(Unit, f64)| json!({"unit": unit.to_string(), "share": rounded(*share)});
    let bound = shares.first().map(|nearest| Bound::of(*nearest));
    answer["bound"] = json!(bound.as_ref().map(Bound::name));
    if bound == Some(Bound::Latency) {
        let achieved = counters.and_then(|counters| counters.mean(Metric::WarpsActive));
        match (achieved, theoretical) {
            (Some(share), _) => answer["achieved_occupancy"] = rounded(share).into(),
            (None, Some(share)) => answer["theoretical_occupancy"] = rounded(share).into(),
            (None, None) => {}
        }
    }
    answer["peak_shares"] = shares.iter().map(share).collect();
    if let Some(counters) = counters {
        answer["samples"] = counters.samples.into();
        answer["sampled_ns"] = counters.sampled_ns.into();
        answer["is_divided"] = counters.is_divided.into();
    }
}

/// How to know the limit of some kernels, and their waits, if these are unknown.
fn know_more<'a>(
    profile: &Profile,
    counters: Option<&CounterValues>,
    has_bound: bool,
    kernels: impl Iterator<Item = &'a str>,
) -> Value {
    let bound = (!has_bound).then(|| without_bound(profile, counters));
    let waits = waits::unknown(profile, kernels);
    bound.into_iter().chain(waits).map(Value::from).collect()
}

/// Why the limit of some kernels is unknown, and what to do.
fn without_bound(profile: &Profile, counters: Option<&CounterValues>) -> String {
    let samples = counters.map_or(0, |counters| counters.samples);
    let is_sampled = counters.is_some_and(|counters| !counters.means.is_empty());
    let mut notes = profile.diagnostics.notes.iter();
    if is_sampled {
        "the memory bandwidth or the issue rate of the device is unknown".to_owned()
    } else if let Some(note) = notes.find(|note| note.contains("(GPUPROF_COUNTERS)")) {
        note.clone()
    } else if profile.counters.is_empty() {
        "the program ran without hardware counters, which say what limits a kernel: run it with \
         gpuprof run --counters, or with GPUPROF_COUNTERS=on"
            .to_owned()
    } else {
        format!(
            "hardware counters have {samples} samples of it, of the {MIN_COUNTER_SAMPLES} that a \
             value needs: run it longer"
        )
    }
}
