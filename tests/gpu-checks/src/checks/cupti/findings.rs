//! Findings by measurement: of each kernel of findings.cu those that it shows, and no other.

use std::ffi::OsStr;
use std::time::Duration;

use gpuprof::Profile;
use gpuprof::profile::FindingRule;

use super::{cuda_source, refusal};
use crate::check::{Row, RunMode};

const LIMIT: Duration = Duration::from_secs(60);

const COUNTERS: &str = "--counters";
const STALLS: &str = "--stalls";

/// Kernels of findings.cu, the option with which each is measured, and what is found of it. The
/// twin, of which nothing is found, follows.
const EXPECTED: [(&str, &str, &str); 22] = [
    ("strided", COUNTERS, "uncoalesced-access"),
    ("coalesced", COUNTERS, ""),
    ("conflicting", COUNTERS, "bank-conflicts"),
    ("padded", COUNTERS, ""),
    ("diverging", COUNTERS, "divergence"),
    ("uniform", COUNTERS, ""),
    ("l2_reads", COUNTERS, "cache-bound"),
    ("coalesced", COUNTERS, ""),
    ("double_sum", COUNTERS, "double-precision"),
    ("float_sum", COUNTERS, ""),
    ("few_warps", STALLS, "memory-latency"),
    ("many_warps", STALLS, ""),
    ("one_unit", STALLS, "math-throttle"),
    ("two_units", STALLS, ""),
    ("unequal_warps", STALLS, "barrier-wait"),
    ("equal_warps", STALLS, ""),
    ("many_loads", STALLS, "load-store-queue"),
    ("few_loads", STALLS, ""),
    ("queued", STALLS, "shared-memory-queue"),
    ("padded", STALLS, ""),
    ("large_code", STALLS, "instruction-fetch"),
    ("small_code", STALLS, ""),
];

/// What is found by records alone may be found of these kernels too.
fn is_measured(rule: FindingRule) -> bool {
    EXPECTED.iter().any(|(_, _, found)| *found == rule.as_str())
}

pub(super) fn run(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let (installed, program) = match cuda_source::prepare("findings", run_mode)? {
        Ok(prepared) => prepared,
        Err(row) => return Ok(vec![row]),
    };
    let mut rows = Vec::new();
    let mut done: Vec<(&str, &str)> = Vec::new();
    for (kernel, option, wanted) in EXPECTED {
        if done.contains(&(kernel, option)) {
            continue;
        }
        done.push((kernel, option));
        let arguments = [OsStr::new(kernel)];
        let (ended, profile) =
            installed.profile(&[option], &program, &arguments, LIMIT, run_mode)?;
        rows.push(match ended.failure() {
            Some(trouble) => {
                let said = format!("{trouble}: {}{}", ended.stdout, ended.tail());
                Row::judged(format!("{kernel} {option}"), said, "a run", false)
            }
            None => row(kernel, option, wanted, &profile),
        });
    }
    Ok(rows)
}

/// Whether the findings by measurement are the wanted one alone, or none.
fn row(kernel: &str, option: &str, wanted: &str, profile: &Profile) -> Row {
    let what = format!("{kernel} {option}");
    if let Some(why) = refusal(profile) {
        return Row::unavailable(what, why);
    }
    let is_sampled = match option {
        COUNTERS => !profile.counters.is_empty(),
        _ => profile.stalls.is_some(),
    };
    if !is_sampled {
        return Row::unavailable(what, profile.diagnostics.notes.join("; "));
    }
    let findings = profile.findings.iter();
    let measured: Vec<_> = findings.filter(|found| is_measured(found.rule)).collect();
    let passed = match &measured[..] {
        [] => wanted.is_empty(),
        [one] => one.rule.as_str() == wanted,
        _ => false,
    };
    let shown = measured.iter();
    let shown = shown.map(|found| format!("{}: {}", found.rule, found.evidence));
    let mut shown = shown.collect::<Vec<_>>().join("; ");
    if shown.is_empty() {
        shown.push_str("nothing");
    }
    let wanted = if wanted.is_empty() { "nothing" } else { wanted };
    Row::judged(what, shown, wanted, passed)
}

#[cfg(test)]
mod tests {
    use gpuprof::profile::{CuptiCompleteness, Finding, Stalls};

    use super::*;
    use crate::check::Verdict;

    fn profile(rules: &[FindingRule]) -> Profile {
        let mut profile = Profile::default();
        profile.cupti = Some(CuptiCompleteness::default());
        profile.stalls = Some(Stalls::default());
        profile.findings = rules
            .iter()
            .map(|rule| {
                let mut finding = Finding::default();
                finding.rule = *rule;
                finding
            })
            .collect();
        profile
    }

    #[test]
    fn what_is_expected_is_a_finding() {
        for (kernel, _, wanted) in EXPECTED {
            let known = FindingRule::from(wanted) != FindingRule::Unknown;
            assert!(known || wanted.is_empty(), "{kernel}: {wanted}");
        }
    }

    #[test]
    fn a_missing_and_an_unexpected_finding_fail() {
        let verdict = |wanted, rules: &[FindingRule]| {
            row("few_warps", STALLS, wanted, &profile(rules)).verdict
        };
        let (latency, barrier) = (FindingRule::MemoryLatency, FindingRule::BarrierWait);
        assert_eq!(verdict("memory-latency", &[latency]), Verdict::Pass);
        assert_eq!(verdict("memory-latency", &[]), Verdict::Fail);
        assert_eq!(verdict("memory-latency", &[barrier]), Verdict::Fail);
        assert_eq!(
            verdict("memory-latency", &[latency, barrier]),
            Verdict::Fail
        );
        assert_eq!(verdict("", &[]), Verdict::Pass);
        assert_eq!(verdict("", &[latency]), Verdict::Fail);
        // It is of the records.
        assert_eq!(verdict("", &[FindingRule::TailWave]), Verdict::Pass);
        let without = row("few_warps", COUNTERS, "", &profile(&[]));
        assert_eq!(without.verdict, Verdict::Unavailable);
    }
}
