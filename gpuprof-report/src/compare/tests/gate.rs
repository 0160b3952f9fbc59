//! What fails, with limits and without.

use fastrand::Rng;

use super::simulated_runs::Program;
use crate::compare::{
    ComparisonOptions, GateOutcome, GateRule, ItemKind, ProfileComparison, Verdict, compare,
};
use crate::profile::{Function, Profile, SpanStats};

fn rule(part: &'static str, change: f64) -> GateRule {
    GateRule {
        pattern: part.into(),
        change,
        matches: Box::new(move |name| name.contains(part)),
    }
}

/// Quiet runs of a program in one clock state whose new side is slower in its first kernel.
fn slower(change: f64, runs: usize) -> [Vec<Profile>; 2] {
    let mut rng = Rng::with_seed(1);
    let mut program = Program::new(&mut rng, 8, 0.002, false);
    (program.slow_state, program.drift) = ((0.0, 0.0), 0.0);
    program.runs(&mut rng, runs, change)
}

fn compared(sides: &[Vec<Profile>; 2]) -> ProfileComparison {
    compare(&sides[0], &sides[1], &ComparisonOptions::default())
}

fn names(gate: &GateOutcome) -> Vec<&str> {
    gate.failures
        .iter()
        .map(|(name, _)| name.as_str())
        .collect()
}

#[test]
fn without_limits_what_is_slower_fails() {
    let comparison = compared(&slower(0.05, 5));
    let gate = GateOutcome::new(&comparison, &[]);
    let mut failing = names(&gate);
    failing.sort_unstable();
    assert_eq!(failing, ["function_0", "kernel_0"]);
    assert!(
        GateOutcome::new(&compared(&slower(0.0, 5)), &[])
            .failures
            .is_empty()
    );
}

#[test]
fn a_limit_fails_only_what_it_names_from_its_change_on() {
    let comparison = compared(&slower(0.05, 5));
    let gate = |rule: GateRule| GateOutcome::new(&comparison, &[rule]);
    assert_eq!(names(&gate(rule("kernel_0", 0.03))), ["kernel_0"]);
    assert!(gate(rule("kernel_0", 0.08)).failures.is_empty());
    assert!(gate(rule("kernel_1", 0.0)).failures.is_empty());
    assert_eq!(gate(rule("other", 0.03)).idle_rules, [0]);
}

#[test]
fn with_one_run_a_side_nothing_is_a_verdict_but_a_limit_is_kept() {
    let comparison = compared(&slower(0.5, 1));
    assert!(comparison.is_undecidable());
    assert_eq!(comparison.count(Verdict::Unsure), comparison.items.len());
    assert!(GateOutcome::new(&comparison, &[]).failures.is_empty());
    assert_eq!(
        names(&GateOutcome::new(&comparison, &[rule("kernel_0", 0.2)])),
        ["kernel_0"]
    );
    assert!(
        GateOutcome::new(&comparison, &[rule("kernel_", 0.9)])
            .failures
            .is_empty()
    );
}

#[test]
fn a_change_of_all_work_does_not_vanish() {
    let all = |factor: f64| {
        let mut sides = slower(0.0, 5);
        for kernel in sides[1].iter_mut().flat_map(|run| &mut run.kernels) {
            let times = &mut kernel.times;
            times.total_ns = (times.total_ns as f64 * factor) as u64;
            times.max_ns = (times.max_ns as f64 * factor) as u64;
        }
        for function in sides[1].iter_mut().flat_map(|run| &mut run.functions) {
            let busy_ns = function.activity.busy_ns.unwrap() as f64 * factor;
            function.activity.busy_ns = Some(busy_ns as u64);
        }
        let comparison = compared(&sides);
        let item = comparison
            .items
            .iter()
            .find(|item| item.kind == ItemKind::All);
        (item.unwrap().clone(), comparison)
    };
    let (item, comparison) = all(1.05);
    assert_eq!(
        (&*item.name, item.verdict),
        ("all GPU work", Verdict::Unsure)
    );
    assert!((item.change.unwrap() - 0.05).abs() < 0.005, "{item:?}");
    assert!(item.notes[0].starts_with("clocks and temperatures change all work by as much"));
    assert!(GateOutcome::new(&comparison, &[]).failures.is_empty());
    let gate = GateOutcome::new(&comparison, &[rule("all GPU work", 0.03)]);
    assert_eq!(names(&gate), ["all GPU work"]);
    let (item, comparison) = all(1.3);
    assert_eq!(item.verdict, Verdict::Slower);
    assert_eq!(names(&GateOutcome::new(&comparison, &[])), ["all GPU work"]);
}

#[test]
fn functions_are_found_by_module_and_name_and_the_others_are_new_or_gone() {
    let run = |name: &str, line: u32| Profile {
        functions: vec![Function {
            name: name.into(),
            module: "model".into(),
            line,
            calls: 1,
            cpu: SpanStats {
                mean_ns: 1_000,
                ..SpanStats::default()
            },
            ..Function::default()
        }],
        ..Profile::default()
    };
    let options = ComparisonOptions::default();
    let moved = compare(&[run("a", 7)], &[run("a", 70)], &options);
    assert_eq!(moved.items.len(), 1);
    assert_eq!(moved.items[0].change, Some(0.0));
    let renamed = compare(&[run("a", 7)], &[run("b", 7)], &options);
    let found: Vec<_> = renamed
        .items
        .iter()
        .map(|item| (&*item.name, item.verdict))
        .collect();
    assert_eq!(found, [("b", Verdict::New), ("a", Verdict::Gone)]);
    let gate = GateOutcome::new(&renamed, &[rule("a", 0.05)]);
    assert_eq!((gate.failures.len(), gate.idle_rules.len()), (0, 0));
}
