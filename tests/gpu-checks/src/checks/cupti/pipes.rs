//! The shares of each unit's peak compared with Nsight Compute's, kernel by kernel of limits.cu.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use gpuprof::profile::{CounterValues, KernelStats, Metric};

use super::nsight_tools::{self, Metrics};
use super::{cuda_source, refusal};
use crate::check::{Row, RunMode};
use crate::process;
use crate::statistics::{Spread, off, performance};

/// Nsight Compute repeats each launch.
const LIMIT: Duration = Duration::from_secs(240);
/// Launches of each kernel under gpuprof, and of one before all others, as the start of sampling
/// takes 0.8 s: they read 1 GiB each, in sum for 2.5 s at the 3.35 TB/s of an H100.
const LAUNCHES: [&str; 2] = ["200", "8000"];
/// Those of each kernel under Nsight Compute.
const FEW_LAUNCHES: &str = "2";
/// Kernels that must have been sampled by both, at least.
const KERNELS: usize = 10;

/// A unit: what gpuprof samples of it, and Nsight Compute's metrics for the same, of which the
/// first counts that the device has.
struct Unit {
    name: &'static str,
    metric: Metric,
    theirs: &'static [&'static str],
    within: Within,
}

/// The accepted difference.
#[derive(Clone, Copy)]
enum Within {
    /// Of shares, of 1.
    Points(f64),
    /// As a part of Nsight Compute's share, if that is as large as the second number.
    PartOf(f64, f64),
    /// Nothing is promised.
    Any,
}

const PIPE: Within = Within::Points(0.03);

/// What all of these metrics end in.
const END: &str = ".avg.pct_of_peak_sustained_elapsed";

const UNITS: [Unit; 6] = [
    Unit {
        name: "issue",
        metric: Metric::IssueRate,
        theirs: &["sm__inst_executed"],
        within: PIPE,
    },
    Unit {
        name: "FP64",
        metric: Metric::Fp64Active,
        theirs: &["sm__pipe_fp64_cycles_active", "sm__inst_executed_pipe_fp64"],
        within: PIPE,
    },
    Unit {
        name: "ALU",
        metric: Metric::AluActive,
        theirs: &["sm__inst_executed_pipe_alu", "sm__pipe_alu_cycles_active"],
        within: PIPE,
    },
    Unit {
        name: "XU",
        metric: Metric::XuActive,
        theirs: &["sm__inst_executed_pipe_xu"],
        within: PIPE,
    },
    Unit {
        name: "L1/shared",
        metric: Metric::L1Throughput,
        theirs: &["l1tex__data_pipe_lsu_wavefronts"],
        within: Within::PartOf(0.05, 0.1),
    },
    Unit {
        name: "L2",
        metric: Metric::L2Throughput,
        theirs: &["lts__throughput"],
        within: Within::Any,
    },
];

/// The names under which gpuprof samples the L2 cache, which Nsight Compute may refuse.
const SAMPLED_OF_L2: [&str; 3] = [
    "LTS.TriageCompute.lts__throughput",
    "lts__t_sector_throughput",
    "lts__t_sectors",
];

pub(super) fn run(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let (installed, program) = match cuda_source::prepare("limits", run_mode)? {
        Ok(prepared) => prepared,
        Err(row) => return Ok(vec![row]),
    };
    let what = "shares of the peaks beside Nsight Compute's";
    let arguments = LAUNCHES.map(OsStr::new);
    let (ended, profile) =
        installed.profile(&["--counters"], &program, &arguments, LIMIT, run_mode)?;
    if let Some(trouble) = ended.failure() {
        return Err(format!("{trouble}\n{}", ended.tail()));
    }
    if let Some(why) = refusal(&profile) {
        return Ok(vec![Row::unavailable(what, why)]);
    }
    let Some(device) = profile.counters.first() else {
        let why = profile.diagnostics.notes.join("; ");
        return Ok(vec![Row::unavailable(what, why)]);
    };
    let mut rows = vec![Row::info(
        "gpuprof's samples",
        format!(
            "{} of {} ns on {}, not sampled: {:?}; notes: {:?}",
            device.samples,
            device.interval_ns,
            device.chip,
            device.omitted,
            profile.diagnostics.notes
        ),
    )];
    let Some(ncu) = nsight_tools::find("ncu") else {
        rows.push(Row::unavailable(what, "there is no ncu here"));
        return Ok(rows);
    };
    let names = UNITS.iter().flat_map(|unit| unit.theirs);
    let theirs = measured(&ncu, &program, names)?;
    rows.extend(compared(
        run_mode,
        &profile.kernels,
        &device.metrics,
        &theirs,
    ));
    for name in SAMPLED_OF_L2 {
        rows.push(match measured(&ncu, &program, [&name].into_iter()) {
            Ok(theirs) => Row::info(name, of_l2(&profile.kernels, name, &theirs)),
            Err(why) => Row::info(name, why),
        });
    }
    Ok(rows)
}

/// Nsight Compute's values of these metrics, without those that it does not have.
fn measured<'a>(
    ncu: &Path,
    program: &Path,
    names: impl Iterator<Item = &'a &'static str>,
) -> Result<Metrics, String> {
    let mut plain = Command::new(program);
    process::clear_settings(&mut plain);
    plain.arg(FEW_LAUNCHES);
    let names: Vec<_> = names.map(|name| format!("{name}{END}")).collect();
    let tool = nsight_tools::under_ncu(ncu, &plain, &names.join(","));
    let ended = process::run(tool, LIMIT).map_err(|error| error.to_string())?;
    match ended.failure() {
        Some(trouble) => Err(format!("ncu: {trouble}: {}{}", ended.stdout, ended.tail())),
        None => nsight_tools::metrics(&ended.stdout),
    }
}

/// One row for each kernel of Nsight Compute that was sampled, and the number of these.
fn compared(
    run_mode: &RunMode,
    kernels: &[KernelStats],
    sampled: &[Metric],
    theirs: &Metrics,
) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut both = 0;
    for (symbol, values) in theirs {
        let Some((name, ours)) = sampled_kernel(kernels, symbol) else {
            rows.push(Row::info(symbol, "not sampled"));
            continue;
        };
        both += 1;
        rows.push(row_of_kernel(run_mode, name, ours, sampled, values));
    }
    rows.push(performance(
        run_mode,
        "kernels that both have measured",
        format!("{both} of {}", theirs.len()),
        format!("at least {KERNELS}"),
        both >= KERNELS,
    ));
    rows
}

/// The short name and the values of the kernel with this symbol; `None` if it was not sampled.
fn sampled_kernel<'a>(
    kernels: &'a [KernelStats],
    symbol: &str,
) -> Option<(&'a str, &'a CounterValues)> {
    let of_symbol = kernels.iter().filter(|kernel| kernel.symbol == symbol);
    let mut sampled = of_symbol.filter_map(|kernel| {
        let counters = kernel.counters.as_deref()?;
        Some((nsight_tools::short_name(&kernel.name), counters))
    });
    sampled.find(|(_, counters)| !counters.means.is_empty())
}

fn row_of_kernel(
    run_mode: &RunMode,
    name: &str,
    ours: &CounterValues,
    sampled: &[Metric],
    theirs: &BTreeMap<String, Vec<f64>>,
) -> Row {
    let (mut shown, mut apart) = (Vec::new(), Vec::new());
    for unit in UNITS.iter().filter(|unit| sampled.contains(&unit.metric)) {
        let our = ours.mean(unit.metric);
        let their = unit.theirs.iter().find_map(|name| share(theirs, name));
        shown.push(format!("{} {}, {}", unit.name, text(our), text(their)));
        if !unit.within.accepts(our, their) {
            apart.push(unit.name);
        }
    }
    let mut shown = format!("{} % of {} samples", shown.join("; "), ours.samples);
    if !apart.is_empty() {
        shown = format!("{} apart: {shown}", apart.join(", "));
    }
    let wanted = "gpuprof, Nsight Compute: issue, FP64, ALU and XU within 3 points, L1/shared \
                  within 5 % of its share from 10 % up";
    performance(run_mode, name, shown, wanted, apart.is_empty())
}

impl Within {
    /// Whether both shares were measured and agree.
    fn accepts(self, ours: Option<f64>, theirs: Option<f64>) -> bool {
        if matches!(self, Self::Any) {
            return true;
        }
        let (Some(ours), Some(theirs)) = (ours, theirs) else {
            return false;
        };
        match self {
            Self::Points(of) => (ours - theirs).abs() <= of,
            Self::PartOf(of, from) => theirs < from || off(ours, theirs).abs() <= of,
            Self::Any => true,
        }
    }
}

/// The median over the launches of one kernel, of 1.
fn share(values: &BTreeMap<String, Vec<f64>>, name: &str) -> Option<f64> {
    let of_launches = values.get(&format!("{name}{END}"))?;
    Some(Spread::of(of_launches).median / 100.0)
}

fn text(share: Option<f64>) -> String {
    share.map_or_else(|| "none".into(), |share| format!("{:.1}", 100.0 * share))
}

/// What gpuprof sampled of the L2 cache in each kernel, and Nsight Compute's values of this metric.
fn of_l2(kernels: &[KernelStats], name: &str, theirs: &Metrics) -> String {
    let each = theirs.iter().filter_map(|(symbol, values)| {
        let (kernel, ours) = sampled_kernel(kernels, symbol)?;
        let ours = ours.mean(Metric::L2Throughput);
        let their = share(values, name);
        Some(format!("{kernel} {}, {}", text(ours), text(their)))
    });
    each.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
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

    /// As many kernels of Nsight Compute, with two launches each.
    fn theirs(count: usize) -> Metrics {
        let values = |unit: &Unit, share: f64| {
            let name = format!("{}{END}", unit.theirs.last().expect("a metric"));
            (name, vec![share - 0.5, share + 0.5])
        };
        let of_kernel = || {
            UNITS
                .iter()
                .zip(SHARES)
                .map(|(unit, share)| values(unit, share))
        };
        let kernels = 0..count;
        let kernels = kernels.map(|number| (format!("kernel_{number:02}"), of_kernel().collect()));
        kernels.collect()
    }

    /// The rows of ten kernels, of which the first has these shares by gpuprof.
    fn rows(first: [f64; 6]) -> Vec<Row> {
        let others = (1..10).map(|number| kernel(number, SHARES));
        let kernels: Vec<_> = [kernel(0, first)].into_iter().chain(others).collect();
        compared(&ON_A_GPU, &kernels, &ALL, &theirs(10))
    }

    #[test]
    fn shares_of_ten_kernels_agree_within_their_bounds() {
        for (unit, near, far) in [
            (0, 57.1, 56.9),
            (0, 62.9, 63.1),
            (1, 12.4, 12.6),
            (2, 32.9, 33.1),
            (3, 3.9, 4.1),
            (4, 41.9, 42.1),
            (4, 38.1, 37.9),
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
    fn nothing_is_promised_of_l2_and_of_little_work_of_l1() {
        let mut shares = SHARES;
        shares[5] = 90.0;
        assert!(rows(shares).iter().all(|row| row.verdict == Verdict::Pass));
        let bound = UNITS[4].within;
        assert!(bound.accepts(Some(0.08), Some(0.099)));
        assert!(!bound.accepts(Some(0.08), Some(0.1)));
    }

    #[test]
    fn ten_kernels_must_have_been_measured_by_both() {
        let verdict = |count: usize, of_theirs| {
            let kernels: Vec<_> = (0..count).map(|number| kernel(number, SHARES)).collect();
            let rows = compared(&ON_A_GPU, &kernels, &ALL, &theirs(of_theirs));
            rows.last().expect("the number").verdict
        };
        assert_eq!(verdict(10, 17), Verdict::Pass);
        assert_eq!(verdict(9, 17), Verdict::Fail);
        assert_eq!(verdict(17, 9), Verdict::Fail);
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
    }
}
