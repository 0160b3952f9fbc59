//! Promise: the 95 % interval of an estimated total contains the true total that often, for every
//! kind of load; the estimated time inside a call never exceeds the call.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use fastrand::Rng;
use gpuprof::{Profile, Session, gpu_profile};
use support::suite::Module;
use support::tests;
use support::{World, gpu, node, one_in, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        a_stationary_load_is_covered,
        a_bursty_load_is_covered,
        a_load_whose_period_is_the_samplings_is_covered,
        two_samplings_one_inside_the_other_are_covered,
        what_is_inside_a_call_is_never_estimated_to_more_than_the_call,
    ]],
);

/// Seeded runs of each load, and how many intervals must hold the truth: a true 95 % interval gives
/// fewer once in 800.
const RUNS: u64 = 200;
const WANTED: u32 = 180;

/// One call in this many is timed.
const SAMPLE: u32 = 4;

/// Outermost calls of a run.
const CALLS: u64 = 240;

#[gpu_profile]
fn alone(w: &World, stream: &Arc<CudaStream>, ns: u64) {
    w.gpu.kernel_on(stream, ns);
}

#[gpu_profile]
fn parent(w: &World, stream: &Arc<CudaStream>, own: u64, children: &[u64]) {
    if own > 0 {
        w.gpu.kernel_on(stream, own);
    }
    for ns in children {
        child(w, stream, *ns);
    }
}

#[gpu_profile]
fn child(w: &World, stream: &Arc<CudaStream>, ns: u64) {
    w.gpu.kernel_on(stream, ns);
}

#[gpu_profile(sample = 3)]
fn rarely(w: &World, stream: &Arc<CudaStream>, ns: u64) {
    w.gpu.kernel_on(stream, ns);
}

#[gpu_profile]
fn around(w: &World, stream: &Arc<CudaStream>, parts: &[u64]) {
    for ns in parts {
        rarely(w, stream, *ns);
    }
}

/// How long calls last.
#[derive(Clone, Copy, Debug)]
enum Load {
    /// All calls alike, except for chance.
    Stationary,
    /// Occasional bursts of long calls.
    Bursty,
    /// Every n-th call is long, where one in n is timed.
    Periodic,
}

/// The durations of one run: those of outermost calls, and of the spans inside each.
fn durations(load: Load, random: &mut Rng) -> Vec<(u64, Vec<u64>)> {
    let mut left_of_burst = 0;
    let durations = (0..CALLS).map(|call| {
        let scale = match load {
            Load::Stationary => 1,
            Load::Bursty => {
                if left_of_burst == 0 && random.u32(..40) == 0 {
                    left_of_burst = random.u32(5..20);
                }
                left_of_burst = left_of_burst.saturating_sub(1);
                if left_of_burst > 0 { 8 } else { 1 }
            }
            Load::Periodic if call % u64::from(SAMPLE) == 0 => 20,
            Load::Periodic => 1,
        };
        let own = scale * random.u64(500..1_500);
        // Spans nested in one call have similar durations, as in real programs: they are not
        // independent samples.
        let inside = (0..random.u64(1..8)).map(|_| scale * random.u64(50..150));
        (own, inside.collect())
    });
    durations.collect()
}

/// Makes the calls of a run on a thread of its own, whose random numbers follow from `seed`.
fn measure(w: &World, seed: u64, sample: u32, calls: impl FnOnce() + Send) -> Profile {
    // The stream is busy, so that each event pair contains only kernels.
    w.gpu.kernel(10_000_000_000);
    let session = Session::builder()
        .sampling(one_in(sample))
        .start()
        .expect("start");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            gpuprof::__private::set_random_seed(seed);
            calls();
        });
    });
    w.finish(session)
}

/// Whether the interval of `name`, if there is one, holds the true total.
fn covers(profile: &Profile, name: &str, truth: u64) -> bool {
    let gpu = gpu(profile, name);
    let estimate = gpu.estimate.as_ref().expect("a sample");
    let half = estimate.total_ci95_ns;
    half.is_none_or(|half| gpu.times.total_ns.abs_diff(truth) <= half)
}

/// Whether the interval of the device's busy time holds `truth`.
fn covers_busy(profile: &Profile, truth: u64) -> bool {
    let [busy] = profile.gpu_busy[..] else {
        panic!("{:?}", profile.gpu_busy)
    };
    let half = busy.busy_ci95_ns;
    busy.is_estimated && half.is_none_or(|half| busy.busy_ns.abs_diff(truth) <= half)
}

/// The number of runs of `load` in which the interval of each function, and that of the device's
/// busy time, contains the true total.
fn covered(load: Load) -> [u32; 4] {
    let w = world();
    let mut covered = [0; 4];
    for run in 0..RUNS {
        let run_of = durations(load, &mut Rng::with_seed(run));
        let profile = measure(&w, run, SAMPLE, || {
            for (own, inside) in &run_of {
                alone(&w, &w.gpu.stream, *own);
                parent(&w, &w.gpu.stream, *own, inside);
            }
        });
        let own: u64 = run_of.iter().map(|(own, _)| own).sum();
        let inside: u64 = run_of.iter().flat_map(|(_, inside)| inside).sum();
        let truths = [("alone", own), ("parent", own + inside), ("child", inside)];
        for (count, (name, truth)) in covered.iter_mut().zip(truths) {
            *count += u32::from(covers(&profile, name, truth));
        }
        covered[3] += u32::from(covers_busy(&profile, own + own + inside));
        let total = |name| gpu(&profile, name).times.total_ns;
        assert!(total("child") <= total("parent"), "{load:?}, run {run}");
        let half = |name| gpu(&profile, name).estimate.as_ref()?.total_ci95_ns;
        let busy = profile.gpu_busy[0];
        let outermost = total("alone") + total("parent");
        assert!(busy.busy_ns.abs_diff(outermost) <= 1, "{load:?}, run {run}");
        let halves = half("alone").zip(half("parent"));
        let widest = halves.map(|(alone, parent)| alone + parent + 1);
        let half = busy.busy_ci95_ns.zip(widest);
        assert!(
            half.is_none_or(|(half, widest)| half <= widest),
            "{load:?}, run {run}"
        );
    }
    covered
}

fn assert_covered(load: Load) {
    let covered = covered(load);
    println!("{load:?}: {covered:?} of {RUNS}");
    assert!(
        covered.iter().all(|runs| *runs >= WANTED),
        "{load:?}: alone, parent, child and the device in {covered:?} of {RUNS}"
    );
}

fn a_stationary_load_is_covered() {
    assert_covered(Load::Stationary);
}

fn a_bursty_load_is_covered() {
    assert_covered(Load::Bursty);
}

fn a_load_whose_period_is_the_samplings_is_covered() {
    assert_covered(Load::Periodic);
}

fn two_samplings_one_inside_the_other_are_covered() {
    let w = world();
    let mut covered = [0; 2];
    for run in 0..RUNS {
        let run_of = durations(Load::Bursty, &mut Rng::with_seed(run));
        let profile = measure(&w, run, SAMPLE, || {
            for (_, inside) in &run_of {
                around(&w, &w.gpu.stream, inside);
            }
        });
        let truth = run_of.iter().flat_map(|(_, inside)| inside).sum();
        covered[0] += u32::from(covers(&profile, "rarely", truth));
        covered[1] += u32::from(covers_busy(&profile, truth));
        let total = |name| gpu(&profile, name).times.total_ns;
        assert!(total("rarely") <= total("around"), "run {run}");
    }
    assert!(
        covered.iter().all(|runs| *runs >= WANTED),
        "{covered:?} of {RUNS}"
    );
}

fn what_is_inside_a_call_is_never_estimated_to_more_than_the_call() {
    let w = world();
    for run in 0..RUNS {
        // The parents launch nothing themselves.
        let run_of = durations(Load::Bursty, &mut Rng::with_seed(run));
        let profile = measure(&w, run, SAMPLE, || {
            for (_, inside) in &run_of {
                parent(&w, &w.gpu.stream, 0, inside);
            }
        });
        let (outer, inner) = (gpu(&profile, "parent"), gpu(&profile, "child"));
        assert!(inner.times.total_ns <= outer.times.total_ns, "run {run}");
        let at = |chain: &[&str]| node(&profile, chain).gpu_total_ns.expect("a time");
        assert!(at(&["parent", "child"]) <= at(&["parent"]), "run {run}");
    }
}
