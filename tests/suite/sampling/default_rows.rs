//! Promise: with nothing set, the rows of a program of several paths and labels are right: those of
//! equal work are equal, exact ones are exact, and rare ones are estimates.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use gpuprof::profile::{LabelStats, Profile};
use gpuprof::{Session, gpu_profile};
use support::suite::Module;
use support::tests;
use support::{World, assert_consistent, executor, function, gpu};

use crate::automatic_rate::{EVENT_OVERHEAD, settle, with_event_times};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        equal_layers_have_equal_rows,
        a_rare_row_is_marked_and_not_zero,
        rare_calls_are_timed_also_inside_a_with_stream_and_a_future,
        a_row_of_which_all_calls_are_timed_is_exact,
    ]],
);

const LAYER_NS: u64 = 41_500;
/// With its own events, as a call has them.
const TIMED_LAYER_NS: u64 = LAYER_NS + EVENT_OVERHEAD;
const PASSES: u64 = 500;

#[gpu_profile(label = number)]
fn layer(w: &World, stream: &Arc<CudaStream>, number: u64, ns: u64) {
    w.gpu.kernel_on(stream, ns);
}

#[gpu_profile]
fn forward(w: &World, stream: &Arc<CudaStream>, layers: u64) {
    (0..layers).for_each(|number| layer(w, stream, number, LAYER_NS));
}

#[gpu_profile]
fn request(w: &World, stream: &Arc<CudaStream>, is_rare: bool) {
    if is_rare {
        layer(w, stream, 1, 10 * LAYER_NS)
    } else {
        layer(w, stream, 0, LAYER_NS)
    }
}

/// A session of which nothing is set, with so many rounds.
fn run(w: &World, rounds: u64, mut round: impl FnMut(u64)) -> Profile {
    let session = Session::builder().start().expect("start");
    for at in 0..rounds {
        round(at);
        if at % 16 == 15 {
            settle(w, &session);
        }
    }
    w.finish(session)
}

/// The row of a label: its timed calls, average and total.
fn row(profile: &Profile, label: &str) -> (u64, u64, u64) {
    let of_label = |row: &&LabelStats| row.label == label;
    let row = function(profile, "layer").labels.iter().find(of_label);
    let gpu = row.and_then(|row| row.gpu.as_ref()).expect("a row");
    (gpu.timed_calls, gpu.mean_ns, gpu.total_ns)
}

fn equal_layers_have_equal_rows() {
    let w = with_event_times();
    for _ in 0..5 {
        let profile = run(&w, PASSES, |_| forward(&w, &w.gpu.stream, 8));
        assert_consistent(&profile);
        assert!(
            function(&profile, "layer").untimed.sampled_out > 0,
            "it is sampled"
        );
        for label in 0..8 {
            let (timed, mean_ns, total_ns) = row(&profile, &label.to_string());
            assert!((1..PASSES).contains(&timed), "{timed}");
            assert_eq!(
                (mean_ns, total_ns),
                (TIMED_LAYER_NS, PASSES * TIMED_LAYER_NS)
            );
        }
        assert_eq!(
            gpu(&profile, "layer").times.total_ns,
            8 * PASSES * TIMED_LAYER_NS
        );
        // The pairs of the layers are not in it.
        let forward_ns = PASSES * (8 * LAYER_NS + EVENT_OVERHEAD);
        assert_eq!(gpu(&profile, "forward").times.total_ns, forward_ns);
        assert_eq!(profile.gpu_busy[0].busy_ns, forward_ns);
    }
}

fn a_rare_row_is_marked_and_not_zero() {
    let w = with_event_times();
    // Each 50th request is ten times as long; the first comes late.
    let is_rare = |at: u64| at % 50 == 49 && at > 2_000;
    let profile = run(&w, 4_000, |at| request(&w, &w.gpu.stream, is_rare(at)));
    let rare = profile
        .tree
        .iter()
        .find(|row| row.label.as_deref() == Some("1"));
    let rare = rare.expect("a row");
    assert!(rare.gpu_estimate.is_some());
    // At least the mean of the function, which stands for a path of which too little is known.
    assert!(rare.gpu_total_ns >= Some(40 * LAYER_NS), "{rare:?}");
    assert_eq!(row(&profile, "0").1, TIMED_LAYER_NS);
}

/// Outermost, with the rare calls inside.
#[gpu_profile]
async fn answer(w: &World, stream: &Arc<CudaStream>, is_rare: bool) {
    request(w, stream, is_rare);
}

fn rare_calls_are_timed_also_inside_a_with_stream_and_a_future() {
    let w = with_event_times();
    let is_rare = |at: u64| at % 20 == 19 && at > 2_000;
    let timed = |profile: Profile| {
        let of_rare = |row: &&LabelStats| row.label == "1";
        let labels = &function(&profile, "layer").labels;
        let gpu = labels.iter().find(of_rare).and_then(|row| row.gpu.as_ref());
        gpu.map_or(0, |gpu| gpu.timed_calls)
    };
    let idle = || w.cpu(1_000_000);
    let alone = timed(run(&w, 4_000, |at| {
        idle();
        request(&w, &w.gpu.stream, is_rare(at));
    }));
    let inside = timed(run(&w, 4_000, |at| {
        idle();
        let stream = Arc::clone(&w.gpu.stream);
        gpuprof::with_stream(&stream, || request(&w, &w.gpu.stream, is_rare(at)));
    }));
    let in_future = timed(run(&w, 4_000, |at| {
        idle();
        executor::run(&w, answer(&w, &w.gpu.stream, is_rare(at)), 0);
    }));
    let enough = 10..=40;
    for timed in [alone, inside, in_future] {
        assert!(enough.contains(&timed), "{alone}, {inside}, {in_future}");
    }
}

fn a_row_of_which_all_calls_are_timed_is_exact() {
    let w = with_event_times();
    let profile = run(&w, 4_000, |at| match at {
        // Six calls on a path of their own, before anything is left out.
        0..6 => layer(&w, &w.gpu.stream, 2, LAYER_NS + at),
        _ => forward(&w, &w.gpu.stream, 2),
    });
    let row = profile
        .tree
        .iter()
        .find(|row| row.label.as_deref() == Some("2"));
    let row = row.expect("a row");
    assert_eq!(row.gpu_estimate, None);
    assert_eq!(row.gpu_total_ns, Some(6 * TIMED_LAYER_NS + 15));
    let sampled = profile.tree.iter().filter(|row| row.gpu_estimate.is_some());
    assert_eq!(sampled.count(), 3, "forward and its two layers");
}
