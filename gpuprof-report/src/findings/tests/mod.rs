//! Hand-made profiles, and the findings of the rules for them.

mod below_roofline;
mod copies;
mod examples;
mod host_time;
mod kernels;
mod nsight_commands;
mod whole_run;

use super::findings;
use crate::profile::{
    ApiStats, CopyStats, Cupti, Device, DurationStats, Finding, Function, GpuActivity,
    GpuSpanStats, KernelStats, Profile, SpanStats, TreeNode,
};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;

/// With the peaks that the table of docs/h200.md goes by.
fn h200() -> Device {
    Device {
        sm_count: Some(132),
        peak_bytes_per_s: Some(4_814_000_000_000),
        peak_flops_f32: Some(66_900_000_000_000),
        peak_flops_f64: Some(33_450_000_000_000),
        ..Device::default()
    }
}

/// With the peaks of the simulated device: double precision at 1/32 of single.
fn simulated() -> Device {
    Device {
        sm_count: Some(40),
        peak_bytes_per_s: Some(320_064_000_000),
        peak_flops_f32: Some(8_140_800_000_000),
        peak_flops_f64: Some(254_400_000_000),
        simulated: true,
        ..Device::default()
    }
}

fn durations(calls: u64, each_ns: u64) -> DurationStats {
    DurationStats {
        calls,
        total_ns: calls * each_ns,
        mean_ns: each_ns,
        min_ns: each_ns,
        max_ns: each_ns,
        p50_ns: each_ns,
        p99_ns: each_ns,
    }
}

/// Large enough for any device unless its grid is changed.
fn kernel(name: &str, calls: u64, each_ns: u64) -> KernelStats {
    KernelStats {
        name: name.into(),
        full_name: name.into(),
        symbol: name.into(),
        times: durations(calls, each_ns),
        grid: [4_096, 1, 1],
        block: [256, 1, 1],
        shapes: 1,
        occupancy: Some(0.75),
        streams: 1,
        ..KernelStats::default()
    }
}

/// Of page-locked memory, not blocking and while no kernel ran unless that is changed.
fn copies(kind: &str, calls: u64, each_ns: u64, each_bytes: u64) -> CopyStats {
    CopyStats {
        kind: kind.into(),
        exposed_ns: Some(calls * each_ns),
        times: durations(calls, each_ns),
        bytes: calls * each_bytes,
        streams: 1,
        ..CopyStats::default()
    }
}

fn pageable(kind: &str, calls: u64, each_ns: u64, each_bytes: u64) -> CopyStats {
    let copies = copies(kind, calls, each_ns, each_bytes);
    CopyStats {
        pageable_calls: calls,
        pageable_ns: copies.times.total_ns,
        ..copies
    }
}

fn api(name: &str, kind: &str, calls: u64, each_ns: u64) -> ApiStats {
    ApiStats {
        name: name.into(),
        kind: kind.into(),
        times: durations(calls, each_ns),
        failed: 0,
    }
}

/// A function whose calls all took the same, all of it its own.
fn function(name: &str, calls: u64, each_ns: u64) -> Function {
    let times = SpanStats {
        total_ns: calls * each_ns,
        self_ns: calls * each_ns,
        mean_ns: each_ns,
        max_ns: each_ns,
        p50_ns: each_ns,
        p99_ns: each_ns,
        ..SpanStats::default()
    };
    Function {
        name: name.into(),
        calls,
        cpu: times.clone(),
        gpu: Some(GpuSpanStats {
            timed_calls: calls,
            timed_ns: times.total_ns,
            times,
            ..GpuSpanStats::default()
        }),
        has_stream: true,
        activity: GpuActivity {
            busy_calls: calls,
            work_streams: 1,
            ..GpuActivity::default()
        },
        ..Function::default()
    }
}

impl Function {
    fn kernels(mut self, kernels: impl Into<Vec<KernelStats>>) -> Self {
        self.activity.kernels = kernels.into();
        self.counted()
    }

    fn copied(mut self, copies: impl Into<Vec<CopyStats>>) -> Self {
        self.activity.copies = copies.into();
        self.counted()
    }

    /// Busy for what its own work took, idle for the rest.
    fn counted(mut self) -> Self {
        let work = &mut self.activity;
        let copied: u64 = work.copies.iter().map(|copies| copies.times.calls).sum();
        work.launches = work.kernels.iter().map(|kernel| kernel.times.calls).sum();
        work.activities = work.launches + copied;
        let kernels: u64 = work
            .kernels
            .iter()
            .map(|kernel| kernel.times.total_ns)
            .sum();
        let copies: u64 = work.copies.iter().map(|copies| copies.times.total_ns).sum();
        let busy = kernels + copies;
        self.busy(busy)
    }

    fn busy(mut self, busy_ns: u64) -> Self {
        let total = self.gpu.as_ref().map_or(0, |gpu| gpu.times.total_ns);
        self.activity.busy_ns = Some(busy_ns);
        self.activity.idle_ns = Some(total.saturating_sub(busy_ns));
        self
    }

    /// Launches of kernels per call, with those of functions inside.
    fn launching(mut self, per_call: u64) -> Self {
        self.activity.launches = per_call * self.calls;
        self.activity.activities = self.activity.launches;
        self
    }

    /// GPU self time, where functions inside have the rest.
    fn own(mut self, self_ns: u64) -> Self {
        if let Some(gpu) = &mut self.gpu {
            gpu.times.self_ns = self_ns;
        }
        self
    }

    fn calls_cuda(mut self, api: impl Into<Vec<ApiStats>>) -> Self {
        self.activity.api = api.into();
        self
    }

    /// States work per call.
    fn states(mut self, bytes: Option<f64>, flops: Option<f64>) -> Self {
        let calls = self.calls as f64;
        self.bytes = bytes.map(|bytes| bytes * calls);
        self.flops = flops.map(|flops| flops * calls);
        if let Some(gpu) = &mut self.gpu {
            gpu.timed_bytes = self.bytes;
            gpu.timed_flops = self.flops;
        }
        self
    }

    /// Without a GPU time: marked `cpu`.
    fn on_the_cpu(mut self) -> Self {
        self.gpu = None;
        self.cpu_only = true;
        self.has_stream = false;
        self
    }
}

/// A program of these functions, called in this tree: function, place of its parent in the list,
/// calls.
fn program(
    device: Device,
    functions: impl Into<Vec<Function>>,
    tree: &[(&str, Option<u32>, u64)],
) -> Profile {
    let mut functions = functions.into();
    for function in &mut functions {
        if let Some(gpu) = &mut function.gpu {
            gpu.device = Some(0);
        }
    }
    let at = |name: &str| functions.iter().position(|function| function.name == name);
    let node = |(id, (name, parent, calls)): (usize, &(&str, Option<u32>, u64))| TreeNode {
        id: id as u32,
        parent: *parent,
        name: (*name).into(),
        function: at(name).map(|at| at as u32),
        calls: *calls,
        ..TreeNode::default()
    };
    let tree = tree.iter().enumerate().map(node).collect();
    let mut profile = Profile {
        program: "program".into(),
        wall_ns: 200 * MS,
        devices: vec![device],
        tree,
        cupti: Some(Cupti {
            records: 1_000,
            ..Cupti::default()
        }),
        kernels: functions
            .iter()
            .flat_map(|f| f.activity.kernels.clone())
            .collect(),
        copies: functions
            .iter()
            .flat_map(|f| f.activity.copies.clone())
            .collect(),
        functions,
        ..Profile::default()
    };
    profile
        .kernels
        .sort_by_key(|kernel| std::cmp::Reverse(kernel.times.total_ns));
    profile.diagnostics.event_overhead_ns = Some(1_300);
    profile
}

/// Rule and function of each finding.
fn found(profile: &Profile) -> Vec<(&'static str, String)> {
    let found = findings(profile).into_iter();
    found
        .map(|finding| (finding.rule.as_str(), finding.function.unwrap_or_default()))
        .collect()
}

/// The functions that a rule names; empty for the whole program.
fn named(rule: &str, profile: &Profile) -> Vec<String> {
    let found = found(profile).into_iter();
    found
        .filter(|(id, _)| *id == rule)
        .map(|(_, function)| function)
        .collect()
}

/// A rule's only finding.
fn the(rule: &str, profile: &Profile) -> Finding {
    let of_rule = findings(profile).into_iter();
    let mut of_rule = of_rule.filter(|finding| finding.rule.as_str() == rule);
    let finding = of_rule.next().unwrap();
    assert_eq!(of_rule.next(), None, "{rule} speaks once");
    finding
}

fn evidence(rule: &str, profile: &Profile) -> String {
    the(rule, profile).evidence
}

/// Something beside what is looked at, so that nothing is all of the time.
fn beside(each_ns: u64) -> Function {
    function("beside", 100, each_ns).kernels([kernel("beside", 100, each_ns)])
}

fn one(mut function: Function, change: impl FnOnce(&mut Function)) -> Profile {
    change(&mut function);
    program(h200(), [function, beside(100 * US)], &[])
}

fn speaks(rule: &str, profile: &Profile) -> bool {
    !named(rule, profile).is_empty()
}

#[test]
fn the_page_is_made_of_the_rules() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/findings.md");
    let page = super::page();
    // How the page is made after a change of a rule.
    if std::env::var_os("WRITE_FINDINGS_PAGE").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let there = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        there == page,
        "docs/findings.md is not what the rules say: run this test with WRITE_FINDINGS_PAGE=1"
    );
}

#[test]
fn rules_have_names_of_their_own_and_reasons_for_every_figure() {
    let mut ids: Vec<_> = super::RULES.iter().map(|rule| rule.id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), super::RULES.len());
    for rule in super::RULES {
        assert!(!rule.thresholds.is_empty(), "{}", rule.id);
        assert!(
            rule.when.ends_with('.') && rule.advice.ends_with('.'),
            "{}",
            rule.id
        );
        let reasons = rule.thresholds.iter().map(|threshold| threshold.why);
        assert!(reasons.clone().all(|why| !why.is_empty()), "{}", rule.id);
    }
}

#[test]
fn without_cupti_nothing_is_said() {
    let mut profile = examples::convolution_on_h200();
    assert!(!findings(&profile).is_empty());
    profile.cupti = None;
    assert_eq!(findings(&profile), []);
    assert_eq!(super::commands(&profile, true), []);
}

#[test]
fn an_empty_profile_has_no_finding() {
    let profile = Profile {
        cupti: Some(Cupti::default()),
        ..Profile::default()
    };
    assert_eq!(findings(&profile), []);
    assert_eq!(super::commands(&profile, true), []);
}

#[test]
fn every_finding_is_returned_the_largest_weight_first() {
    let functions: Vec<Function> = (1..=9)
        .map(|n| {
            let upload = pageable("HtoD", 10, (100 + n) * US, 1 << 20);
            function(&format!("upload {n}"), 10, 2 * MS).copied([upload])
        })
        .collect();
    let mut profile = program(h200(), functions, &[]);
    let everything = found(&profile);
    // Each takes a ninth of the time; the threshold of the rule is a tenth.
    assert_eq!(everything.len(), 9);
    let weights: Vec<u64> = findings(&profile)
        .iter()
        .map(|finding| finding.gain_ns)
        .collect();
    assert!(weights.is_sorted_by(|a, b| a >= b), "{weights:?}");
    assert_eq!(everything[0].1, "upload 9");
    profile.functions.clear();
    assert_eq!(findings(&profile), []);
}
