//! Promise: with automatic sampling, every call of functions with few or long calls is timed;
//! functions with many short calls are timed so rarely that their events cost next to nothing. The
//! intervals of the totals are true.

use std::num::NonZeroU32;
use std::sync::Arc;

use cudarc::driver::CudaStream;
use fastrand::Rng;
use gpuprof::{Profile, Sampling, Session, StreamRef, gpu_profile};
use support::suite::Module;
use support::tests;
use support::{World, assert_consistent, cpu_times, function, gpu, gpu_times, until, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        few_calls_and_long_ones_are_all_timed,
        a_new_session_times_all_calls_again,
        calls_timed_before_sampling_add_no_sampling_error,
        what_is_stated_holds,
        of_many_short_calls_few_are_timed_and_totals_stand_for_all,
        calls_that_are_left_out_release_their_streams,
        inside_a_sampled_call_no_more_are_left_out_than_have_to_be,
        the_intervals_hold_what_they_say_while_rates_change,
    ]],
);

/// The event overhead measured on the simulated device; sampling assumes three times this per timed
/// call.
pub(crate) const EVENT_OVERHEAD: u64 = 1_000;

/// Calls of a function that are all timed before sampling starts.
const ALL: u64 = 8;
/// Timed calls per stage; each stage doubles the weight of a timed call.
const STAGE: u64 = 8;

#[gpu_profile]
fn few(w: &World, stream: &Arc<CudaStream>) {
    w.gpu.kernel_on(stream, 5_000);
}

#[gpu_profile]
fn long(w: &World, stream: &Arc<CudaStream>) {
    w.gpu.kernel_on(stream, 60_000_000);
}

#[gpu_profile(bytes = 100)]
fn short(w: &World, stream: &Arc<CudaStream>, ns: u64) {
    w.gpu.kernel_on(stream, ns);
}

/// Its span owns the stream.
#[gpu_profile(stream = StreamRef::from(Arc::clone(stream)))]
fn owns(w: &World, stream: &Arc<CudaStream>) {
    w.gpu.kernel_on(stream, 5_000);
}

#[gpu_profile]
fn begins(w: &World, stream: &Arc<CudaStream>) {
    w.gpu.kernel_on(stream, 5_000);
}

#[gpu_profile(sample = 1)]
fn each(w: &World, stream: &Arc<CudaStream>) {
    w.gpu.kernel_on(stream, 5_000);
}

#[gpu_profile(sample = 4)]
fn stated(w: &World, stream: &Arc<CudaStream>) {
    w.gpu.kernel_on(stream, 5_000);
}

#[gpu_profile]
fn step(w: &World, stream: &Arc<CudaStream>, own: u64, parts: &[u64]) {
    w.gpu.kernel_on(stream, own);
    for ns in parts {
        part(w, stream, *ns);
    }
}

#[gpu_profile]
fn part(w: &World, stream: &Arc<CudaStream>, ns: u64) {
    w.gpu.kernel_on(stream, ns);
}

#[gpu_profile]
fn varies(w: &World, stream: &Arc<CudaStream>, ns: u64) {
    w.gpu.kernel_on(stream, ns);
}

#[gpu_profile]
fn outer(w: &World, stream: &Arc<CudaStream>, parts: &[u64]) {
    for ns in parts {
        inner(w, stream, *ns);
    }
}

#[gpu_profile]
fn inner(w: &World, stream: &Arc<CudaStream>, ns: u64) {
    w.gpu.kernel_on(stream, ns);
}

/// The same, with events that take no time from now on.
pub(crate) fn with_event_overhead() -> World {
    let w = with_event_times();
    w.sim.set_event_ns(0);
    w
}

/// The world with a device of this event overhead, which gpuprof knows. The time of a call whose
/// work is queued contains it once.
pub(crate) fn with_event_times() -> World {
    let w = world();
    w.sim.set_event_ns(EVENT_OVERHEAD);
    let session = w.session();
    each(&w, &w.gpu.stream);
    // gpuprof measures at five moments, each time on a stream made for that.
    until(|| {
        w.cpu(1_000_000_000);
        let overhead_ns = session.snapshot().diagnostics.event_overhead_ns;
        overhead_ns == Some(EVENT_OVERHEAD) && w.sim.calls("cuStreamDestroy_v2") == 5
    });
    w.finish(session);
    w
}

/// Event pairs take half of it: a two-thousandth of the time.
const BUDGET_PPM: u32 = 1_000;

fn sampling() -> Sampling {
    Sampling::Auto {
        budget_ppm: NonZeroU32::new(BUDGET_PPM).expect("not 0"),
    }
}

pub(crate) fn session() -> Session {
    Session::builder()
        .sampling(sampling())
        .start()
        .expect("start")
}

/// Waits until the GPU has finished and gpuprof has read all times.
pub(crate) fn settle(w: &World, session: &Session) {
    w.gpu.context.synchronize().expect("synchronize");
    until(|| session.snapshot().diagnostics.untimed.unfinished == 0);
}

/// Makes `calls` calls; after every few of them it waits until gpuprof has read their times.
fn make(w: &World, session: &Session, calls: u64, mut call: impl FnMut(u64)) {
    for at in 0..calls {
        call(at);
        if at % 8 == 7 {
            settle(w, session);
        }
    }
}

fn timed_all(profile: &Profile, name: &str, calls: u64) {
    assert_eq!(gpu_times(profile, name).0, calls);
    assert_eq!(function(profile, name).untimed_calls, 0);
    assert_eq!(gpu(profile, name).estimate, None);
}

fn few_calls_and_long_ones_are_all_timed() {
    let w = with_event_overhead();
    let session = session();
    make(&w, &session, ALL, |_| few(&w, &w.gpu.stream));
    make(&w, &session, 3 * ALL, |_| long(&w, &w.gpu.stream));
    let profile = w.finish(session);
    timed_all(&profile, "few", ALL);
    timed_all(&profile, "long", 3 * ALL);
    assert_eq!(gpu_times(&profile, "few").1, ALL * 5_000);
    assert_eq!(profile.diagnostics.sampling, sampling());
}

fn a_new_session_times_all_calls_again() {
    let w = with_event_overhead();
    let first = session();
    make(&w, &first, 64 * ALL, |_| begins(&w, &w.gpu.stream));
    let first = w.finish(first);
    assert!(
        gpu(&first, "begins").timed_calls < 32 * ALL,
        "it is sampled"
    );
    let second = session();
    make(&w, &second, ALL, |_| begins(&w, &w.gpu.stream));
    timed_all(&w.finish(second), "begins", ALL);
}

fn calls_timed_before_sampling_add_no_sampling_error() {
    let w = with_event_overhead();
    let session = session();
    make(&w, &session, ALL + STAGE, |_| begins(&w, &w.gpu.stream));
    // From here on one call in two is timed.
    begins(&w, &w.gpu.stream);
    begins(&w, &w.gpu.stream);
    let profile = w.finish(session);
    let gpu = gpu(&profile, "begins");
    let half = gpu
        .estimate
        .as_ref()
        .and_then(|e| e.total_ci95_ns)
        .unwrap_or(0);
    let uncertain = gpu.times.total_ns * 2 / (ALL + STAGE + 2);
    assert!(half <= uncertain + 1, "{half} of {uncertain}");
}

fn what_is_stated_holds() {
    let w = with_event_overhead();
    let session = session();
    let calls = 1_024;
    make(&w, &session, calls, |_| each(&w, &w.gpu.stream));
    make(&w, &session, calls, |_| stated(&w, &w.gpu.stream));
    let profile = w.finish(session);
    timed_all(&profile, "each", calls);
    // A sample stated by the attribute applies from the first call. The margin is eight standard
    // deviations.
    let timed = gpu_times(&profile, "stated").0;
    assert!(timed.abs_diff(calls / 4) < 8 * 14, "{timed}");
}

fn of_many_short_calls_few_are_timed_and_totals_stand_for_all() {
    let w = with_event_overhead();
    let session = session();
    // The first calls are slow, as in real programs.
    let first = ALL + STAGE;
    let ns = |at| if at < first { 40_000 } else { 10_000 };
    let calls = 20_000;
    make(&w, &session, calls, |at| short(&w, &w.gpu.stream, ns(at)));
    let profile = w.finish(session);
    assert_eq!(cpu_times(&profile, "short").0, calls);
    let gpu = gpu(&profile, "short");
    let function = function(&profile, "short");
    assert_eq!(gpu.timed_calls + function.untimed.sampled_out, calls);
    assert_eq!(function.untimed_calls, function.untimed.sampled_out);
    // After ten stages one call in 600 is timed; while the budget is exceeded, a stage is shorter.
    assert!(
        (ALL + 10..ALL + 10 * STAGE + 100).contains(&gpu.timed_calls),
        "{} timed",
        gpu.timed_calls
    );
    let truth = first * 40_000 + (calls - first) * 10_000;
    let half = gpu
        .estimate
        .as_ref()
        .and_then(|e| e.total_ci95_ns)
        .expect("a sample");
    // All slow calls were timed before sampling began; the remaining error comes only from random
    // sampling.
    assert!(half < truth / 100, "{half} of {truth}");
    assert!(
        gpu.times.total_ns.abs_diff(truth) < truth / 200,
        "{} of {truth}",
        gpu.times.total_ns
    );
    let mean = truth / calls;
    assert!(
        gpu.times.mean_ns.abs_diff(mean) < mean / 200,
        "{}",
        gpu.times.mean_ns
    );
    // 24 slow calls of 20,000 must not reach the 99th percentile, although they are a fifth of the
    // timed calls.
    assert!(gpu.times.p99_ns < 11_000, "{}", gpu.times.p99_ns);
    assert_eq!((gpu.times.min_ns, gpu.times.max_ns), (10_000, 40_000));
    // The rate of bytes is that of all calls, not of the timed ones.
    let per_ns = gpu.timed_bytes.expect("stated") / gpu.timed_ns as f64;
    let wanted = (100 * calls) as f64 / truth as f64;
    assert!((per_ns / wanted - 1.0).abs() < 0.005, "{per_ns}, {wanted}");
}

fn calls_that_are_left_out_release_their_streams() {
    let w = with_event_overhead();
    let session = session();
    let before = Arc::strong_count(&w.gpu.stream);
    make(&w, &session, 20_000, |_| owns(&w, &w.gpu.stream));
    settle(&w, &session);
    until(|| Arc::strong_count(&w.gpu.stream) == before);
    let profile = w.finish(session);
    assert!(function(&profile, "owns").untimed.sampled_out > 10_000);
}

fn inside_a_sampled_call_no_more_are_left_out_than_have_to_be() {
    let w = with_event_times();
    // Both functions reach their rates before the reset. Alone, one in 20 steps of 300 µs would be
    // timed and one in 300 parts of 20 µs. Together that would be a third over the budget.
    let parts = [20_000; 5];
    let call = |_| step(&w, &w.gpu.stream, 200_000, &parts);
    let session = session();
    make(&w, &session, 8_000, call);
    gpuprof::reset();
    let calls = 12_000;
    make(&w, &session, calls, call);
    let profile = w.finish(session);
    let near = |name, wanted: u64| {
        let timed = gpu_times(&profile, name).0;
        // Steps are drawn independently, and so are the parts of one step. The margin is eight
        // standard deviations.
        let spread = 8 * wanted.isqrt();
        assert!(timed.abs_diff(wanted) < spread, "{name}: {timed}, {wanted}");
    };
    near("step", calls / 27);
    // The rates do not multiply to one in 27 × 400.
    near("part", calls * 5 / (27 * 15));
    let total = |name| gpu(&profile, name).times.total_ns;
    assert_eq!(total("step"), calls * (300_000 + EVENT_OVERHEAD));
    assert_eq!(total("part"), calls * (100_000 + 5 * EVENT_OVERHEAD));
    // A step's self time is a difference of two estimates.
    let own = gpu(&profile, "step").times.self_ns;
    assert!(own.abs_diff(calls * 200_000) < calls * 40_000, "{own}");
}

/// Seeded runs, and how many intervals must hold the truth: a true 95 % interval gives fewer once
/// in 800.
const RUNS: u64 = 200;
const WANTED: u32 = 180;

fn the_intervals_hold_what_they_say_while_rates_change() {
    let w = with_event_overhead();
    let mut covered = [0; 3];
    // A session begins with rates of its own, a reset goes on with those before it.
    let session = session();
    for run in 0..RUNS {
        let mut random = Rng::with_seed(run);
        let mut left_of_burst = 0;
        // Bursts of long calls, to which the rates adapt continuously.
        let calls: Vec<(u64, Vec<u64>)> = (0..240)
            .map(|_| {
                if left_of_burst == 0 && random.u32(..40) == 0 {
                    left_of_burst = random.u32(5..20);
                }
                left_of_burst = left_of_burst.saturating_sub(1);
                let scale = if left_of_burst > 0 { 8 } else { 1 };
                let own = scale * random.u64(600_000..1_800_000);
                let inside = (0..random.u64(1..8)).map(|_| scale * random.u64(200_000..600_000));
                (own, inside.collect())
            })
            .collect();
        w.cpu(10_000);
        gpuprof::reset();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                gpuprof::__private::set_random_seed(run);
                make(&w, &session, calls.len() as u64, |at| {
                    let (ns, inside) = &calls[at as usize];
                    varies(&w, &w.gpu.stream, *ns);
                    outer(&w, &w.gpu.stream, inside);
                });
            });
        });
        settle(&w, &session);
        let profile = gpuprof::collect();
        assert_consistent(&profile);
        let alone: u64 = calls.iter().map(|(ns, _)| ns).sum();
        let inside: u64 = calls.iter().flat_map(|(_, inside)| inside).sum();
        let truths = [("varies", alone), ("outer", inside), ("inner", inside)];
        for (count, (name, truth)) in covered.iter_mut().zip(truths) {
            let gpu = gpu(&profile, name);
            let estimate = gpu.estimate.as_ref();
            let half = estimate.map_or(Some(0), |estimate| estimate.total_ci95_ns);
            let error = gpu.times.total_ns.abs_diff(truth);
            *count += u32::from(half.is_none_or(|half| error <= half));
        }
    }
    println!("varies, outer and inner: {covered:?} of {RUNS}");
    assert!(
        covered.iter().all(|runs| *runs >= WANTED),
        "varies, outer and inner in {covered:?} of {RUNS}"
    );
}
