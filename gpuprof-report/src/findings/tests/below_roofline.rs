//! Rules about rates, and about double precision.

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
        "from its stated work, its kernels reach 2.1 % of the memory bandwidth and 1.5 % of \
         the single-precision peak; they take 50.0 % of the GPU's kernel and copy time."
    );
    assert!(
        !speaks(
            "below-roofline",
            &rated(|f| *f = f.clone().states(Some(5e8), None))
        ),
        "a tenth"
    );
    assert!(
        !speaks(
            "below-roofline",
            &rated(|f| *f = f.clone().states(None, None))
        ),
        "states nothing"
    );
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

/// Two functions of the same work, and what is different in the slow one.
fn twins(slow_ns: u64, change: impl FnOnce(&mut Function)) -> Profile {
    let version = |name: &str, each: u64| {
        function(name, 10, each)
            .kernels([kernel(name, 10, each)])
            .states(Some(1e8), Some(2e10))
    };
    let mut slow = version("slow", slow_ns);
    change(&mut slow);
    program(h200(), [slow, version("fast", MS)], &[])
}

#[test]
fn a_slower_twin_is_suspected_of_double_precision_only_where_that_would_explain_it() {
    const RULE: &str = "double-precision-suspect";
    assert_eq!(named(RULE, &twins(1_250 * US, |_| ())), ["slow"]);
    assert!(!speaks(RULE, &twins(1_190 * US, |_| ())), "hardly slower");
    assert!(speaks(RULE, &twins(2_190 * US, |_| ())));
    assert!(
        !speaks(RULE, &twins(2_210 * US, |_| ())),
        "slower than double precision makes it"
    );
    let suspect = |change: fn(&mut Function)| speaks(RULE, &twins(1_500 * US, change));
    assert!(suspect(|_| ()));
    assert!(
        !suspect(|f| f.activity.kernels[0].grid = [64, 64, 2]),
        "another grid"
    );
    assert!(
        !suspect(|f| f.activity.kernels[0].block = [128, 1, 1]),
        "another block"
    );
    assert!(
        !suspect(|f| f.activity.kernels[0].static_shared_bytes = 2_048),
        "shared memory"
    );
    assert!(
        !suspect(|f| f.activity.kernels[0].symbol = "fast".into()),
        "the same kernel"
    );
    assert!(
        !suspect(|f| *f = f.clone().states(Some(1e8), Some(1.9e10))),
        "other flops"
    );
    assert!(
        !suspect(|f| *f = f.clone().states(Some(1.1e8), Some(2e10))),
        "other bytes"
    );
    assert!(
        !suspect(|f| *f = f.clone().states(Some(1e8), Some(6e10))),
        "faster than double precision is"
    );
    let with_another = |share_ns| {
        let profile = twins(1_500 * US, |f| {
            f.activity.kernels.push(kernel("another", 10, share_ns));
        });
        speaks(RULE, &profile)
    };
    assert!(with_another(370 * US));
    assert!(!with_another(380 * US), "whose flops are they");
}

#[test]
fn a_rate_just_below_a_low_double_precision_peak_is_suspected() {
    const RULE: &str = "double-precision-suspect";
    let at = |share: f64, bytes: f64, device: Device| {
        let f64_peak = device.peak_flops_f64.unwrap() as f64;
        let function = function("f", 10, MS)
            .kernels([kernel("k", 10, MS)])
            .states(Some(bytes), Some(share * f64_peak / 1e3));
        program(device, [function, beside(10 * US)], &[])
    };
    assert!(speaks(RULE, &at(0.75, 1e6, simulated())));
    assert!(!speaks(RULE, &at(0.65, 1e6, simulated())), "well below");
    assert!(!speaks(RULE, &at(1.02, 1e6, simulated())), "above");
    assert!(
        !speaks(RULE, &at(0.75, 1.7e8, simulated())),
        "memory explains it"
    );
    assert!(
        !speaks(RULE, &at(0.75, 1e6, h200())),
        "double precision is fast there"
    );
}
