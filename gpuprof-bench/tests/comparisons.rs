//! Two implementations measured in turn, on the simulated device's virtual clock.

mod common;

use std::cell::RefCell;
use std::sync::Arc;

use common::{KERNEL_NS, Saxpy, saxpy};
use cudarc::driver::{CudaStream, DriverError};
use gpuprof_bench::{BenchError, CallMode, Comparing, Stopped, StoppingRule, Variant, bench};

/// A variant that launches so many kernels a call and adds `offset` to one value of its output.
fn variant<'a>(name: &str, stream: &'a Arc<CudaStream>, launches: u32, offset: f32) -> Variant<'a> {
    Variant::new(
        name,
        move || Saxpy::on(stream),
        move |saxpy| (0..launches).try_for_each(|_| saxpy.launch()),
        move |saxpy| -> Result<Vec<f32>, DriverError> {
            let mut values = saxpy.stream.clone_dtoh(&saxpy.y)?;
            values[7] += offset;
            Ok(values)
        },
    )
}

fn compare<'a>(
    stream: &Arc<CudaStream>,
    baseline: Variant<'a>,
    candidate: Variant<'a>,
) -> Comparing<'a> {
    bench("saxpy")
        .stream(stream)
        .bytes(3_072)
        .compare(baseline, candidate)
}

#[test]
fn a_speedup_is_that_of_the_times_and_is_required_with_its_interval() {
    let (_sim, work, _turn) = saxpy();
    let run = |above: f64| {
        let comparing = compare(
            &work.stream,
            variant("slow", &work.stream, 4, 0.0),
            variant("fast", &work.stream, 1, 0.0),
        );
        let compared = comparing.require_speedup(above).run();
        compared.expect("a comparison")
    };
    let found = run(3.9);
    for speedup in &found.speedups {
        assert_eq!((speedup.median, speedup.ci95), (4.0, Some((4.0, 4.0))));
        assert_eq!(speedup.stopped, Stopped::Converged);
        assert_eq!(speedup.rounds, 30);
    }
    assert_eq!(found.speedups.len(), 2);
    for (results, launches) in [(&found.baseline, 4), (&found.candidate, 1)] {
        for measured in &results.measurements {
            assert_eq!(measured.median_ns, (launches * KERNEL_NS) as f64);
            assert_eq!(measured.bytes, Some(3_072));
        }
        assert_eq!(results.measurements.len(), 2);
    }
    assert_eq!(found.baseline.name, "saxpy implementation=slow");
    assert_eq!(found.check(), Ok(()));
    // The interval must be above it, not at it.
    let found = run(4.0);
    let Err(BenchError::Unmet(why)) = found.check() else {
        panic!("{found}");
    };
    assert_eq!(
        why,
        "not shown: speed-up above 4: at least 4.000 cold, 4.000 hot"
    );
    let text = found.to_string();
    assert!(
        text.contains("saxpy: fast against slow\n  cold  speed-up 4.000 (95 %: 4.000"),
        "{text}"
    );
    assert!(
        text.contains("  required, NOT SHOWN: speed-up above 4"),
        "{text}"
    );
}

#[test]
fn samples_are_taken_in_turn_so_that_a_drift_hits_both() {
    let (sim, work, _turn) = saxpy();
    let order = RefCell::new(String::new());
    let drift = RefCell::new(KERNEL_NS);
    // Each call is 1 % slower than the one before.
    let step = |letter: char, launches: u32, saxpy: &mut Saxpy| -> Result<(), DriverError> {
        order.borrow_mut().push(letter);
        let mut ns = drift.borrow_mut();
        *ns += KERNEL_NS / 100;
        sim.set_kernel_ns("saxpy", *ns);
        (0..launches).try_for_each(|_| saxpy.launch())
    };
    let output = |saxpy: &Saxpy| saxpy.stream.clone_dtoh(&saxpy.y);
    let found = bench("saxpy")
        .stream(&work.stream)
        .modes(&[CallMode::Cold])
        .compare(
            Variant::new(
                "a",
                || Saxpy::on(&work.stream),
                |saxpy| step('a', 2, saxpy),
                output,
            ),
            Variant::new(
                "b",
                || Saxpy::on(&work.stream),
                |saxpy| step('b', 1, saxpy),
                output,
            ),
        )
        .run()
        .expect("a comparison");
    let order = order.into_inner();
    let rounds = found.speedups[0].rounds;
    let expected = "abba".repeat(rounds / 2 + 1);
    assert!(
        order.ends_with(&expected[..2 * rounds]),
        "{rounds}: {order}"
    );
    // The medians drift, and are not known as well as the ratio is.
    assert_eq!(found.speedups[0].stopped, Stopped::Converged);
    let stopped = found.baseline.measurements[0].stopped;
    assert_eq!(stopped, Stopped::RatioConverged);
    // Measured one after the other, the drift alone would be far more than 2 %.
    let speedup = found.speedups[0].median;
    assert!((speedup / 2.0 - 1.0).abs() < 0.005, "{speedup}");
}

#[test]
fn wrong_outputs_fail_the_check_and_are_not_measured() {
    let (sim, work, _turn) = saxpy();
    let run = |tolerance: f64| {
        let comparing = compare(
            &work.stream,
            variant("right", &work.stream, 1, 0.0),
            variant("wrong", &work.stream, 1, 0.5),
        );
        let compared = comparing
            .tolerance(tolerance, 0.0)
            .require_speedup(0.5)
            .run();
        compared.expect("a comparison")
    };
    let found = run(0.25);
    assert_eq!(found.agreement.worst.map(|pair| pair.index), Some(7));
    assert_eq!(
        (found.agreement.wrong, found.agreement.max_absolute),
        (1, 0.5)
    );
    assert!(found.baseline.measurements.is_empty() && found.speedups.is_empty());
    let error = found.check().expect_err("they differ").to_string();
    assert!(
        error.starts_with("outputs DIFFER: 1 of 256 values beyond 2.5e-1")
            && error.ends_with("worst at index 7: 0 and 0.5"),
        "{error}"
    );
    sim.reset_calls();
    assert_eq!(run(0.5).check(), Ok(()));
    assert!(sim.calls("cuLaunchKernel") > 60);
}

#[test]
fn memory_is_that_of_setting_up_and_of_a_call() {
    let (sim, work, _turn) = saxpy();
    sim.set_kernel_ns("memset", 1_000);
    let stream = &work.stream;
    let with = |name: &str, kept: usize, for_a_call: usize| {
        Variant::new(
            name,
            move || stream.alloc_zeros::<u8>(kept),
            move |_| stream.alloc_zeros::<u8>(for_a_call).map(drop),
            |_| Ok::<_, DriverError>(vec![1.0]),
        )
    };
    let run = |at_most: f64| {
        let comparing = compare(
            stream,
            with("small", 1_024, 1_024),
            with("large", 4_096, 2_048),
        );
        let compared = comparing.require_memory(at_most).run();
        compared.expect("a comparison")
    };
    let found = run(3.0);
    assert_eq!(found.memory_bytes, (2_048, 6_144));
    assert_eq!(found.check(), Ok(()));
    let error = run(2.9).check().expect_err("too much").to_string();
    assert_eq!(
        error,
        "not shown: at most 2.9 × the baseline's memory: 2.000 KiB and 6.000 KiB"
    );
}

#[test]
fn a_mode_that_one_of_them_cannot_run_in_shows_nothing() {
    let (_sim, work, _turn) = saxpy();
    let waits = Variant::new(
        "waits",
        || Saxpy::on(&work.stream),
        |saxpy| {
            saxpy.launch()?;
            saxpy.stream.synchronize()
        },
        |saxpy| saxpy.stream.clone_dtoh(&saxpy.y),
    );
    let found = bench("saxpy")
        .stream(&work.stream)
        .modes(&[CallMode::Graph])
        .compare(variant("plain", &work.stream, 1, 0.0), waits)
        .require_speedup(0.0)
        .run()
        .expect("a comparison");
    let (mode, why) = &found.candidate.not_measured[0];
    assert!(*mode == CallMode::Graph && why.contains("CAPTURE"), "{why}");
    assert_eq!(
        found.baseline.not_measured[0].1,
        "the other implementation cannot run so"
    );
    let text = found.to_string();
    let line = "  graph not measured: saxpy implementation=waits: ";
    assert!(text.contains(line), "{text}");
    assert!(found.check().is_err());
    let plain = || variant("plain", &work.stream, 1, 0.0);
    let found = bench("saxpy")
        .stream(&work.stream)
        .modes(&[CallMode::Graph])
        .compare(variant("twice", &work.stream, 2, 0.0), plain())
        .require_speedup(1.99)
        .run()
        .expect("a comparison");
    assert_eq!(found.speedups[0].median, 2.0);
    assert_eq!(found.check(), Ok(()));
}

#[test]
fn work_on_another_stream_is_noted_and_shows_nothing() {
    let (_sim, work, _turn) = saxpy();
    let other = work.stream.context().new_stream().expect("a stream");
    let elsewhere = |name: &str| variant(name, &other, 1, 0.0);
    let mut rule = StoppingRule::default();
    rule.max_samples = 40;
    let found = bench("saxpy")
        .stream(&work.stream)
        .modes(&[CallMode::Cold])
        .rule(rule)
        .compare(elsewhere("a"), elsewhere("b"))
        .require_speedup(0.0)
        .run()
        .expect("a comparison");
    let note = &found.baseline.measurements[0].notes[0];
    assert!(note.contains("is its work on this stream?"), "{note}");
    assert_eq!(found.speedups, []);
    assert!(found.check().is_err());
}

#[test]
fn failures_of_each_step_are_errors() {
    let (sim, work, _turn) = saxpy();
    let fails = || Err::<Saxpy, _>("no input");
    let broken = Variant::new(
        "broken",
        fails,
        |saxpy| saxpy.launch(),
        |_| Ok::<_, DriverError>(vec![0.0]),
    );
    let error = compare(&work.stream, variant("plain", &work.stream, 1, 0.0), broken).run();
    assert_eq!(
        error.err(),
        Some(BenchError::Call("\"no input\"".to_owned()))
    );
    sim.fail("cuLaunchKernel", 40, 1, 719);
    let error = compare(
        &work.stream,
        variant("a", &work.stream, 1, 0.0),
        variant("b", &work.stream, 1, 0.0),
    )
    .run();
    assert!(error.is_err());
    sim.clear_failures();
    work.stream.synchronize().expect("the stream goes on");
}
