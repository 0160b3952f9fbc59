//! The rule about rates.

use super::*;

fn rated(change: impl FnOnce(&mut Function)) -> Profile {
    // 1 TFLOP/s and 100 GB/s: 1.5 % and 2.1 % of the peaks.
    let function = function("rated", 10, MS)
        .kernels([kernel("rated", 10, MS)])
        .states(Some(1e8), Some(1e9));
    one(function, change)
}

#[test]
fn far_below_both_peaks_is_reported() {
    let text = evidence("below-roofline", &rated(|_| ()));
    assert_eq!(
        text,
        "2.1 % of the bandwidth, 1.5 % of the f32 peak: its kernels take 50 % of GPU time"
    );
    assert!(
        !speaks(
            "below-roofline",
            &rated(|f| *f = f.clone().states(Some(5e8), Some(1e9)))
        ),
        "a tenth"
    );
    for (bytes, flops) in [(Some(1e8), None), (None, Some(1e9)), (None, None)] {
        let states = |f: &mut Function| *f = f.clone().states(bytes, flops);
        assert!(!speaks("below-roofline", &rated(states)), "not both");
    }
    assert!(
        !speaks(
            "below-roofline",
            &rated(|f| f.activity.kernels[0].times.calls = 1_000)
        ),
        "tiny kernels"
    );
    assert!(
        !speaks(
            "below-roofline",
            &rated(|f| f.gpu.as_mut().unwrap().timed_calls = 4)
        ),
        "few calls"
    );
    let mut little = rated(|_| ());
    little.kernels.push(kernel("other", 1, 100 * MS));
    assert!(!speaks("below-roofline", &little), "a small share");
    let copied = |f: &mut Function| *f = f.clone().copied([copies("HtoD", 10, 2 * MS, 1 << 20)]);
    assert!(!speaks("below-roofline", &rated(copied)), "mostly copies");
}

#[test]
fn a_rate_at_the_double_precision_peak_is_not_reported() {
    let at = |share: f64| {
        let flops = share * 254_400_000_000.0 / 1e3;
        let function = function("f", 10, MS)
            .kernels([kernel("k", 10, MS)])
            .states(Some(1e6), Some(flops));
        let profile = program(simulated(), [function, beside(10 * US)], &[]);
        speaks("below-roofline", &profile)
    };
    assert!(at(0.49));
    assert!(!at(0.51) && !at(1.04));
    assert!(at(1.06), "not double precision");
}

#[test]
fn a_cause_that_explains_most_of_it_is_reported_instead() {
    let small = |blocks| rated(|f| f.activity.kernels[0].grid = [blocks, 1, 1]);
    assert_eq!(found(&small(33)), [("underused-gpu", "rated".into())]);
    assert_eq!(found(&small(99))[0].0, "below-roofline");
}
