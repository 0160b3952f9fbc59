//! What makes a comparison doubtful.

use super::sides::{devices, driver, values};
use super::text;
use crate::profile::Profile;
use crate::setting_values::Sampling;

/// One line each.
pub(super) fn comparison_warnings(old: &[Profile], new: &[Profile]) -> Vec<String> {
    let mut warnings = Vec::new();
    warnings.extend(few_runs(old.len(), new.len()));
    warnings.extend(repeated_run(old, new));
    let advice = "compare runs of the same one";
    let differences: [Difference; 8] = [
        ("programs", advice, |run| Some(run.program.clone())),
        ("devices", advice, devices),
        ("CUDA drivers", advice, driver),
        ("arguments", "they may do different work", args),
        ("sampling", "set GPUPROF_SAMPLE to the same value", sampling),
        (
            "CUPTI",
            "records make launches slower; set GPUPROF_CUPTI to the same value",
            cupti,
        ),
        (
            "ranks",
            "merge the ranks of each run first: gpuprof merge",
            rank,
        ),
        (
            "simulated devices",
            "modelled times say nothing about measured ones",
            simulated,
        ),
    ];
    for difference in differences {
        warnings.extend(differing(difference, old, new));
    }
    warnings.extend(throttled(old, new));
    warnings
}

fn few_runs(old: usize, new: usize) -> Option<String> {
    let advice = "make at least five of each, alternating: old, new, old, new";
    match (old + new, old.min(new)) {
        (..3, _) => Some(format!(
            "one run a side proves little: how much runs differ by themselves is unknown, so that \
             no change is a verdict; {advice}"
        )),
        (_, ..3) => Some(format!(
            "{} and {} are few: only large changes can be told from the spread of runs; {advice}",
            text::things(old, "old run"),
            text::things(new, "new run"),
        )),
        _ => None,
    }
}

/// A run that is given twice would seem to have no spread.
fn repeated_run(old: &[Profile], new: &[Profile]) -> Option<String> {
    let key = |run: &Profile| {
        let key = (
            run.started_at.clone(),
            run.pid,
            run.host.clone(),
            run.wall_ns,
        );
        (!run.started_at.is_empty()).then_some(key)
    };
    let mut keys: Vec<_> = old.iter().chain(new).filter_map(key).collect();
    let runs = keys.len();
    keys.sort();
    keys.dedup();
    (keys.len() < runs).then(|| {
        format!(
            "{} of the files are copies of another one: each run counts once, so leave them out",
            runs - keys.len()
        )
    })
}

/// What is different, what to do about it, and what it is in a run; `None` if the run does not say.
type Difference = (&'static str, &'static str, fn(&Profile) -> Option<String>);

fn differing(
    (what, advice, value): Difference,
    old: &[Profile],
    new: &[Profile],
) -> Option<String> {
    // A run that does not say it differs from none.
    let mut all = old.iter().chain(new).filter_map(value);
    let first = all.next()?;
    if all.all(|value| value == first) {
        return None;
    }
    let [old, new] = [old, new].map(|side| values(side, value));
    let shown = |side: String| {
        if side.is_empty() {
            "none".to_owned()
        } else {
            side
        }
    };
    Some(format!(
        "the runs are of different {what}: old {}; new {}; {advice}",
        shown(old),
        shown(new)
    ))
}

fn args(run: &Profile) -> Option<String> {
    let pair = run.meta.iter().find(|pair| pair.key == "args");
    Some(pair.map_or_else(String::new, |pair| pair.value.clone()))
}

fn sampling(run: &Profile) -> Option<String> {
    Some(match run.diagnostics.sampling {
        Sampling::EveryCall => "every call".to_owned(),
        Sampling::OneIn(calls) => format!("1 call in {calls}"),
        Sampling::Auto { budget_ppm } => {
            format!("auto:{}%", f64::from(budget_ppm.get()) / 1e4)
        }
    })
}

fn cupti(run: &Profile) -> Option<String> {
    let cupti = run.cupti.as_ref();
    let words = cupti.map_or("off", |cupti| if cupti.all_calls { "full" } else { "on" });
    Some(words.to_owned())
}

fn rank(run: &Profile) -> Option<String> {
    let merged = run
        .ranks
        .as_ref()
        .map(|ranks| format!("{} merged", ranks.profiles));
    let own = run.rank.map(|rank| rank.to_string());
    Some(merged.or(own).unwrap_or_else(|| "none".to_owned()))
}

fn simulated(run: &Profile) -> Option<String> {
    let simulated = run.devices.iter().any(|device| device.simulated);
    let words = if simulated {
        "simulated device"
    } else {
        "measured"
    };
    (!run.devices.is_empty()).then(|| words.to_owned())
}

/// How many runs of each side were throttled, and why.
fn throttled(old: &[Profile], new: &[Profile]) -> Option<String> {
    let count = |side: &[Profile]| side.iter().filter(|run| !run.throttled.is_empty()).count();
    let (before, after) = (count(old), count(new));
    if before + after == 0 {
        return None;
    }
    let throttles = || old.iter().chain(new).flat_map(|run| &run.throttled);
    let lowest = throttles().filter_map(|of| of.sm_clock_mhz).min();
    let highest = throttles().filter_map(|of| of.max_sm_clock_mhz).max();
    let clock = match (lowest, highest) {
        (Some(lowest), Some(highest)) => format!(", down to {lowest} of {highest} MHz"),
        _ => String::new(),
    };
    let mut reasons: Vec<&str> = Vec::new();
    for reason in throttles().flat_map(|of| &of.reasons) {
        if !reasons.contains(&reason.as_str()) {
            reasons.push(reason.as_str());
        }
    }
    Some(format!(
        "the GPU ran below its maximum clock in {before} of {} and {after} of {} ({}{clock}); lock \
         the clocks: nvidia-smi --lock-gpu-clocks",
        text::things(old.len(), "old run"),
        text::things(new.len(), "new run"),
        reasons.join(", "),
    ))
}
