use gpuprof::profile::CounterMean;

use super::*;
use crate::check::Verdict;

const ON_A_GPU: RunMode = RunMode {
    simulated: false,
    short: false,
};
const ALL: [Metric; 6] = [
    Metric::IssueRate,
    Metric::Fp64Active,
    Metric::AluActive,
    Metric::XuActive,
    Metric::L1Throughput,
    Metric::L2Throughput,
];
/// In the order of [`UNITS`], %.
const SHARES: [f64; 6] = [60.0, 9.5, 30.0, 1.0, 40.0, 20.0];

fn kernel(number: usize, shares: [f64; 6]) -> KernelStats {
    let mut counters = CounterValues::default();
    counters.samples = 40;
    let means = ALL.into_iter().zip(shares);
    let means = means.map(|(metric, share)| CounterMean::new(metric, share / 100.0, 0.0));
    counters.means = means.collect();
    let mut kernel = KernelStats::default();
    kernel.symbol = format!("kernel_{number:02}");
    kernel.name = format!("void kernel<{number}>(int)");
    kernel.counters = Some(counters.into());
    kernel
}

/// As many kernels of Nsight Compute, with two launches each. Of metrics of which the first counts
/// it has the last alone; of those of which the largest counts all, and the second is the largest.
fn theirs(count: usize) -> Metrics {
    let values = |name: &str, share: f64| (format!("{name}{END}"), vec![share - 0.5, share + 0.5]);
    let of_unit = |unit: &Unit, share: f64| match unit.theirs {
        Theirs::First(names) => vec![values(names.last().expect("a metric"), share)],
        Theirs::Largest(names) => {
            let with = |(at, name): (usize, &&str)| {
                values(name, if at == 1 { share } else { share / 2.0 })
            };
            names.iter().enumerate().map(with).collect()
        }
    };
    let of_kernel = || {
        let units = UNITS.iter().zip(SHARES);
        units.flat_map(|(unit, share)| of_unit(unit, share))
    };
    let kernels = 0..count;
    let kernels = kernels.map(|number| (format!("kernel_{number:02}"), of_kernel().collect()));
    kernels.collect()
}

/// The rows of kernels, of which the first has these shares by gpuprof.
fn rows(first: [f64; 6]) -> Vec<Row> {
    let others = (1..KERNELS).map(|number| kernel(number, SHARES));
    let kernels: Vec<_> = [kernel(0, first)].into_iter().chain(others).collect();
    compared(&ON_A_GPU, &kernels, &ALL, &theirs(KERNELS))
}

#[test]
fn shares_of_kernels_agree_within_their_bounds() {
    for (unit, near, far) in [
        (0, 57.1, 56.9),
        (0, 62.9, 63.1),
        (1, 12.4, 12.6),
        (2, 32.9, 33.1),
        (3, 3.9, 4.1),
        (4, 41.9, 42.1),
        (4, 38.1, 37.9),
        (5, 20.9, 21.1),
        (5, 19.1, 18.9),
    ] {
        let with = |share| {
            let mut shares = SHARES;
            shares[unit] = share;
            rows(shares)
        };
        assert!(with(near).iter().all(|row| row.verdict == Verdict::Pass));
        let far = with(far);
        let failed: Vec<_> = far
            .iter()
            .filter(|row| row.verdict == Verdict::Fail)
            .collect();
        let [row] = failed[..] else {
            panic!("one of {failed:?}");
        };
        let name = UNITS[unit].name;
        assert!(
            row.measured.starts_with(&format!("{name} apart: ")),
            "{row:?}"
        );
    }
    let agree = rows(SHARES);
    assert_eq!(agree[0].what, "kernel");
    assert_eq!(
        agree[0].measured,
        "issue 60.0, 60.0; FP64 9.5, 9.5; ALU 30.0, 30.0; XU 1.0, 1.0; L1/shared 40.0, 40.0; \
         L2 20.0, 20.0 % of 40 samples"
    );
}

#[test]
fn nothing_is_promised_of_caches_with_little_work() {
    for unit in &UNITS[4..] {
        assert!(unit.within.accepts(Some(0.08), Some(0.099)));
        assert!(!unit.within.accepts(Some(0.08), Some(0.1)));
    }
}

#[test]
fn most_kernels_must_have_been_measured_by_both() {
    let verdict = |count: usize, of_theirs| {
        let kernels: Vec<_> = (0..count).map(|number| kernel(number, SHARES)).collect();
        let rows = compared(&ON_A_GPU, &kernels, &ALL, &theirs(of_theirs));
        rows.last().expect("the number").verdict
    };
    assert_eq!(verdict(16, 17), Verdict::Pass);
    assert_eq!(verdict(15, 17), Verdict::Fail);
    assert_eq!(verdict(17, 15), Verdict::Fail);
}

#[test]
fn a_unit_without_a_value_fails_unless_the_chip_has_no_room_for_it() {
    let mut kernel = kernel(0, SHARES);
    let counters = kernel.counters.as_mut().expect("counters");
    counters
        .means
        .retain(|mean| mean.metric != Metric::AluActive);
    let first = |sampled: &[Metric]| {
        let kernels = [kernel.clone()];
        compared(&ON_A_GPU, &kernels, sampled, &theirs(1)).swap_remove(0)
    };
    let without = first(&ALL);
    assert_eq!(without.verdict, Verdict::Fail);
    assert!(without.measured.contains("ALU none, 30.0"), "{without:?}");
    let sampled = ALL.map(|of| {
        if of == Metric::AluActive {
            Metric::IssueRate
        } else {
            of
        }
    });
    assert_eq!(first(&sampled).verdict, Verdict::Pass);
    let rows = compared(&ON_A_GPU, &[kernel], &sampled, &theirs(1));
    let wanted = "1 of 1; units without samples: [\"ALU\"]";
    assert_eq!(rows.last().expect("the number").measured, wanted);
}
