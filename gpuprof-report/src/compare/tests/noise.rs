//! How often a comparison is wrong, and what it finds.

use fastrand::Rng;

use super::simulated_runs::{Program, without_cupti};
use crate::compare::{ComparisonOptions, GateOutcome, ProfileComparison, Verdict, compare};
use crate::profile::Profile;

fn compared(sides: &[Vec<Profile>; 2]) -> ProfileComparison {
    compare(&sides[0], &sides[1], &ComparisonOptions::default())
}

/// Whether the verdict on the first kernel, or without CUPTI on its function, is `SLOWER`.
fn is_found(comparison: &ProfileComparison) -> bool {
    let mut items = comparison.items.iter();
    let name = |name: &str| ["kernel_0", "function_0"].contains(&name);
    items.any(|item| name(&item.name) && item.verdict == Verdict::Slower)
}

/// Pairs of sides with any alarm, of `pairs` pairs without a change, and with the slower kernel
/// found, of as many with a kernel that is 5 % slower.
fn alarms_and_finds(
    pairs: u64,
    program: impl Fn(&mut Rng) -> Program,
    spoil: impl Fn(&mut [Vec<Profile>; 2]),
) -> (usize, usize) {
    let mut count = (0, 0);
    for seed in 0..pairs {
        let mut rng = Rng::with_seed(seed);
        let program = program(&mut rng);
        let mut equal = program.runs(&mut rng, 5, 0.0);
        let mut slower = program.runs(&mut rng, 5, 0.05);
        spoil(&mut equal);
        spoil(&mut slower);
        count.0 += usize::from(!GateOutcome::new(&compared(&equal), &[]).failures.is_empty());
        count.1 += usize::from(is_found(&compared(&slower)));
    }
    count
}

#[test]
fn five_hundred_noisy_equal_pairs_raise_at_most_five_alarms_and_five_percent_is_found() {
    let program = |rng: &mut Rng| Program::new(rng, 12, 0.01, false);
    let (alarms, found) = alarms_and_finds(500, program, |_| {});
    assert!(alarms <= 5, "{alarms} alarms");
    assert!(found >= 475, "{found} found");
}

#[test]
fn the_same_without_cupti() {
    let program = |rng: &mut Rng| Program::new(rng, 12, 0.01, false);
    let (alarms, found) = alarms_and_finds(500, program, without_cupti);
    assert!(alarms <= 5, "{alarms} alarms");
    assert!(found >= 475, "{found} found");
}

#[test]
fn kernels_that_clocks_affect_differently_raise_no_more_alarms() {
    let program = |rng: &mut Rng| Program::new(rng, 12, 0.01, true);
    let (alarms, found) = alarms_and_finds(500, program, |_| {});
    assert!(alarms <= 5, "{alarms} alarms");
    assert!(found >= 475, "{found} found");
}

#[test]
fn too_few_kernels_for_a_common_factor_raise_no_more_alarms() {
    let program = |rng: &mut Rng| {
        let mut program = Program::new(rng, 3, 0.01, false);
        program.alternating = true;
        program
    };
    let (alarms, _) = alarms_and_finds(500, program, |_| {});
    assert!(alarms <= 5, "{alarms} alarms");
    // In one clock state the slower kernel is found all the same.
    let one_state = |rng: &mut Rng| {
        let mut program = program(rng);
        (program.slow_state, program.drift) = ((0.0, 0.0), 0.0);
        program
    };
    let (alarms, found) = alarms_and_finds(500, one_state, |_| {});
    assert!(alarms <= 5, "{alarms} alarms");
    assert!(found >= 475, "{found} found");
}
