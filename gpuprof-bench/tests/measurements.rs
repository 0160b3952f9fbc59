//! What is measured, on the simulated device's virtual clock: every time has one exact value.

mod common;

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::time::Duration;

use common::{KERNEL_NS, saxpy};
use gpuprof_bench::{BenchError, CallMode, Stopped, StoppingRule, bench};

#[test]
fn cold_samples_are_single_calls_each_after_a_flush() {
    let (sim, mut saxpy, _turn) = saxpy();
    sim.reset_calls();
    let stream = Arc::clone(&saxpy.stream);
    let results = bench("saxpy")
        .stream(&stream)
        .bytes(3_072)
        .flops(512)
        .modes(&[CallMode::Cold]);
    let results = results.run(|| saxpy.launch()).expect("a result");
    let cold = results.mode(CallMode::Cold).expect("it is cold");
    assert_eq!(cold.samples, vec![KERNEL_NS as f64; 30]);
    assert_eq!(
        (cold.min_ns, cold.median_ns, cold.p95_ns),
        (12_500.0, 12_500.0, 12_500.0)
    );
    assert_eq!(
        (cold.median_ci95_ns, cold.noise),
        (Some((12_500.0, 12_500.0)), 0.0)
    );
    assert_eq!(
        (cold.stopped, cold.calls_per_sample),
        (Stopped::Converged, 1)
    );
    assert_eq!((cold.throttled_samples, cold.event_overhead_ns), (0, 0.0));
    assert_eq!(cold.notes, Vec::<String>::new());
    assert_eq!(cold.bytes_per_s(), Some(3_072.0 / 12_500.0 * 1e9));
    assert_eq!(cold.flops_per_s(), Some(512.0 / 12_500.0 * 1e9));
    assert!(results.device.simulated);
    // The first one, 10 to warm up and 30 samples. One memset more made the buffer.
    assert_eq!(sim.calls("cuLaunchKernel"), 41);
    assert_eq!(sim.calls("cuMemsetD8Async"), 41);
    assert_eq!(sim.calls("cuStreamWaitValue32_v2"), 40 + 25);
}

#[test]
fn hot_samples_are_many_calls_without_a_flush() {
    let (sim, mut saxpy, _turn) = saxpy();
    sim.reset_calls();
    let stream = Arc::clone(&saxpy.stream);
    let results = bench("saxpy").stream(&stream).modes(&[CallMode::Hot]);
    let results = results.run(|| saxpy.launch()).expect("a result");
    let hot = results.mode(CallMode::Hot).expect("it is hot");
    // 500 µs of 12.5 µs each.
    assert_eq!((hot.calls_per_sample, hot.samples.len()), (40, 30));
    assert_eq!((hot.median_ns, hot.noise), (12_500.0, 0.0));
    assert_eq!(sim.calls("cuMemsetD8Async"), 0);
    // 11 single ones, one sample that tries the number, 10 to warm up, and 30.
    assert_eq!(sim.calls("cuLaunchKernel"), 11 + 41 * 40);
}

#[test]
fn graph_samples_are_replays() {
    let (sim, mut saxpy, _turn) = saxpy();
    sim.reset_calls();
    let stream = Arc::clone(&saxpy.stream);
    let results = bench("saxpy").stream(&stream).modes(&[CallMode::Graph]);
    let results = results.run(|| saxpy.launch()).expect("a result");
    let graph = results.mode(CallMode::Graph).expect("it can be captured");
    assert_eq!((graph.calls_per_sample, graph.samples.len()), (40, 30));
    assert_eq!((graph.median_ns, graph.noise), (12_500.0, 0.0));
    assert_eq!(sim.calls("cuGraphLaunch"), 10 + 30);
    // 11 single ones, one sample that tries the number, and those that were captured.
    assert_eq!(sim.calls("cuLaunchKernel"), 11 + 40 + 40);
}

/// Each launch takes the host 20 µs, so that the GPU would wait for the host between all calls.
#[test]
fn no_time_of_the_host_is_in_a_sample() {
    let (sim, mut saxpy, _turn) = saxpy();
    sim.set_call_ns("cuLaunchKernel", 20_000);
    let stream = Arc::clone(&saxpy.stream);
    let results = bench("saxpy")
        .stream(&stream)
        .run(|| saxpy.launch())
        .expect("a result");
    for measured in &results.measurements {
        assert_eq!(measured.median_ns, 12_500.0, "{}", measured.mode);
        assert_eq!(measured.notes, Vec::<String>::new());
    }
}

/// As where it loads a library, which takes longer than a stream is held.
#[test]
fn a_slow_first_call_is_no_wait_for_the_gpu() {
    let (_sim, mut saxpy, _turn) = saxpy();
    let stream = Arc::clone(&saxpy.stream);
    let mut is_first = true;
    let results = bench("saxpy").stream(&stream).run(|| {
        if std::mem::take(&mut is_first) {
            std::thread::sleep(Duration::from_millis(200));
        }
        saxpy.launch()
    });
    for measured in results.expect("a result").measurements {
        assert_eq!(measured.notes, Vec::<String>::new());
    }
}

#[test]
fn code_that_waits_for_the_gpu_is_measured_and_named() {
    let (sim, mut saxpy, _turn) = saxpy();
    let stream = Arc::clone(&saxpy.stream);
    let results = bench("saxpy").stream(&stream).run(|| {
        saxpy.launch()?;
        // The host works for a while, then waits.
        sim.advance(7_000);
        saxpy.launch()?;
        saxpy.stream.synchronize()
    });
    let results = results.expect("a result");
    for measured in &results.measurements {
        // The second launch comes while the first one runs.
        assert_eq!(measured.median_ns, 25_000.0, "{}", measured.mode);
        let note = measured.notes.first().expect("a note");
        assert!(note.contains("waits for the GPU"), "{note}");
    }
    assert!(
        results
            .to_string()
            .contains("saxpy, cold: the code waits for the GPU")
    );
}

#[test]
fn a_mode_that_the_code_cannot_run_in_is_named() {
    let (_sim, mut saxpy, _turn) = saxpy();
    let stream = Arc::clone(&saxpy.stream);
    let results = bench("saxpy")
        .stream(&stream)
        .modes(&[CallMode::Graph, CallMode::Hot]);
    let results = results.run(|| {
        saxpy.launch()?;
        saxpy.stream.synchronize()
    });
    let results = results.expect("a result");
    assert!(results.mode(CallMode::Hot).is_some());
    let [(CallMode::Graph, why)] = results.not_measured.as_slice() else {
        panic!("{:?}", results.not_measured);
    };
    assert!(why.contains("CAPTURE"), "{why}");
}

/// All benchmarks of a target share a stream.
#[test]
fn a_panic_in_a_capture_leaves_the_stream_usable() {
    let (_sim, mut saxpy, _turn) = saxpy();
    let stream = Arc::clone(&saxpy.stream);
    let bench = bench("saxpy").stream(&stream).modes(&[CallMode::Graph]);
    let panicked = panic::catch_unwind(AssertUnwindSafe(|| {
        bench.run(|| {
            saxpy.launch().expect("a launch");
            saxpy
                .stream
                .synchronize()
                .expect("not while it is captured");
        })
    }));
    assert!(panicked.is_err());
    let results = bench.run(|| saxpy.launch()).expect("a result");
    assert!(results.mode(CallMode::Graph).is_some());
}

#[test]
fn too_few_samples_say_nothing_of_the_median() {
    let (_sim, mut saxpy, _turn) = saxpy();
    let stream = Arc::clone(&saxpy.stream);
    let mut rule = StoppingRule::default();
    rule.max_samples = 5;
    let bench = bench("saxpy").stream(&stream).modes(&[CallMode::Cold]);
    let results = bench.rule(rule).run(|| saxpy.launch()).expect("a result");
    let measured = &results.measurements[0];
    assert_eq!((measured.samples.len(), measured.median_ci95_ns), (5, None));
    assert_eq!(measured.stopped, Stopped::SampleLimit);
    let text = results.to_string();
    assert!(
        text.contains("too few to say how well the median is known"),
        "{text}"
    );
}

#[test]
fn known_noise_ends_by_the_rule() {
    let (sim, mut saxpy, _turn) = saxpy();
    let mut random = fastrand::Rng::with_seed(4);
    let stream = Arc::clone(&saxpy.stream);
    let mut run = |rule: StoppingRule| {
        let results = bench("saxpy")
            .stream(&stream)
            .modes(&[CallMode::Cold])
            .rule(rule);
        let results = results.run(|| {
            // ±10 %
            sim.set_kernel_ns("saxpy", random.u64(90_000..=110_000));
            saxpy.launch()
        });
        results.expect("a result").measurements.remove(0)
    };
    let mut rule = StoppingRule::default();
    rule.relative_error = 0.005;
    let measured = run(rule);
    assert_eq!(measured.stopped, Stopped::Converged);
    assert!(
        measured
            .relative_error()
            .is_some_and(|error| error <= 0.005)
    );
    // (1.96 · 0.1 / 0.005)² is 1,537.
    assert!(
        (500..=3_500).contains(&measured.samples.len()),
        "{}",
        measured.samples.len()
    );
    let (low, high) = measured.median_ci95_ns.expect("an interval");
    assert!(low <= 100_500.0 && high >= 99_500.0, "{low} to {high}");
    // Of a uniform distribution the median deviation is half of 10 %.
    assert!(
        (measured.noise - 1.4826 * 0.05).abs() < 0.01,
        "{}",
        measured.noise
    );

    let mut rule = StoppingRule::default();
    (rule.max_samples, rule.max_time) = (100, Duration::from_secs(60));
    let measured = run(rule);
    assert_eq!(
        (measured.stopped, measured.samples.len()),
        (Stopped::SampleLimit, 100)
    );
}

#[test]
fn failures_say_what_failed() {
    let (sim, mut saxpy, _turn) = saxpy();
    assert_eq!(bench("x").run(|| ()), Err(BenchError::NoStream));
    let stream = Arc::clone(&saxpy.stream);
    let failed = bench("x")
        .stream(&stream)
        .run(|| Err::<(), _>("no such file"));
    assert_eq!(failed, Err(BenchError::Call("\"no such file\"".to_owned())));
    sim.fail("cuLaunchKernel", 3, 1, 701);
    let failed = bench("x")
        .stream(&stream)
        .run(|| saxpy.launch())
        .expect_err("a failure");
    let text = failed.to_string();
    assert!(
        text.starts_with("the benchmarked code failed: ") && text.contains("OUT_OF_RESOURCES"),
        "{text}"
    );
    sim.clear_failures();
    // The stream is not held any more.
    stream.synchronize().expect("the stream goes on");
}
