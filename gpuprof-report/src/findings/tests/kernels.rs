//! Rules about kernels.

use super::*;

#[test]
fn one_kernel_dominates_from_three_fifths_and_five_launches_on() {
    let with = |calls: u64, each: u64| {
        let hot = function("hot", calls, each).kernels([kernel("hot", calls, each)]);
        program(h200(), [hot, beside(100 * US)], &[])
    };
    // Beside it stand 10 ms.
    assert_eq!(named("one-kernel", &with(100, 151 * US)), ["hot"]);
    assert!(!speaks("one-kernel", &with(100, 149 * US)));
    assert!(speaks("one-kernel", &with(5, 4 * MS)));
    assert!(!speaks("one-kernel", &with(4, 5 * MS)));
    let text = evidence("one-kernel", &with(100, 300 * US));
    assert_eq!(
        text,
        "the kernel hot takes 75.0 % of the GPU's kernel and copy time: 100 launches of 300 µs on \
         average."
    );
}

fn step(change: impl FnOnce(&mut Function)) -> Profile {
    let step = function("step", 100, 200 * US).kernels([kernel("tiny", 1_000, 5 * US)]);
    one(step, change)
}

#[test]
fn launch_bound_needs_idle_time_many_launches_and_tiny_kernels() {
    assert_eq!(named("launch-bound", &step(|_| ())), ["step"]);
    assert!(
        !speaks("launch-bound", &step(|f| *f = f.clone().busy(15 * MS))),
        "busy"
    );
    assert!(
        !speaks("launch-bound", &step(|f| f.activity.launches = 700)),
        "few launches"
    );
    assert!(
        !speaks(
            "launch-bound",
            &step(|f| f.activity.kernels[0].times.p50_ns = 21 * US)
        ),
        "long kernels"
    );
    assert!(
        !speaks(
            "launch-bound",
            &step(|f| f.activity.kernels[0].graph_calls = 600)
        ),
        "a graph"
    );
    assert!(
        !speaks("launch-bound", &step(|f| f.activity.busy_calls = 19)),
        "few calls"
    );
    assert!(
        speaks(
            "launch-bound",
            &step(|f| f.activity.idle_ns = Some(50 * MS))
        ) && !speaks(
            "launch-bound",
            &step(|f| f.activity.idle_ns = Some(51 * MS))
        ),
        "something else than launches keeps it waiting"
    );
    assert!(
        !speaks("launch-bound", &step(|f| f.activity.idle_ns = None)),
        "not known"
    );
    let mut lossy = step(|_| ());
    lossy.cupti.as_mut().unwrap().dropped_records = 11;
    assert!(!speaks("launch-bound", &lossy), "records are missing");
}

#[test]
fn idle_time_that_hardly_counts_is_not_told() {
    let mut profile = step(|_| ());
    profile.functions[1] = function("beside", 100, 4 * MS);
    assert!(!speaks("launch-bound", &profile));
}

fn small(change: impl FnOnce(&mut KernelStats)) -> Profile {
    let mut kernel = kernel("small", 10, 400 * US);
    kernel.grid = [33, 3, 1];
    change(&mut kernel);
    one(function("f", 10, 500 * US).kernels([kernel]), |_| ())
}

#[test]
fn a_grid_that_leaves_multiprocessors_empty_is_reported() {
    let text = evidence("underused-gpu", &small(|_| ()));
    assert_eq!(
        text,
        "the kernel small has 99 blocks for 132 multiprocessors; 400 µs on average, 28.6 % of the \
         GPU's kernel and copy time."
    );
    assert_eq!(
        the("underused-gpu", &small(|_| ())).gain_ns,
        MS,
        "a quarter of 4 ms"
    );
    assert!(
        !speaks("underused-gpu", &small(|k| k.grid = [128, 1, 1])),
        "nearly full"
    );
    assert!(
        !speaks("underused-gpu", &small(|k| k.streams = 2)),
        "perhaps several at once"
    );
    assert!(
        !speaks("underused-gpu", &small(|k| k.times.mean_ns = 9 * US)),
        "too short"
    );
    assert!(
        !speaks("underused-gpu", &small(|k| k.times.calls = 4)),
        "rare"
    );
    assert!(
        !speaks("underused-gpu", &small(|k| k.times.total_ns = MS)),
        "a small share"
    );
}

#[test]
fn low_occupancy_is_reported_as_a_possible_reason() {
    let occupied = |occupancy| {
        small(|kernel| {
            kernel.grid = [4_096, 1, 1];
            kernel.occupancy = occupancy;
            kernel.registers = 255;
        })
    };
    let text = evidence("underused-gpu", &occupied(Some(0.125)));
    assert!(
        text.contains("at most 12.5 % of the device's warps")
            && text.ends_with("That may cost it speed."),
        "{text}"
    );
    assert!(!speaks("underused-gpu", &occupied(Some(0.25))));
    assert!(!speaks("underused-gpu", &occupied(None)));
}
