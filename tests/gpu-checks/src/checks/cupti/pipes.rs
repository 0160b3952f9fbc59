//! The shares of each unit's peak compared with Nsight Compute's, kernel by kernel of limits.cu.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use gpuprof::profile::{CounterValues, KernelStats, Metric};

use super::cuda_source::{self, Profiled};
use super::nsight_tools::{self, Metrics};
use crate::check::{Row, RunMode};
use crate::process;
use crate::statistics::{Spread, off, performance};

/// Nsight Compute repeats each launch.
const LIMIT: Duration = Duration::from_secs(110);
/// Launches of each kernel under gpuprof, and of one before all others, as the start of sampling
/// takes 0.8 s: they read 1 GiB each, in sum for 2.5 s at the 3.35 TB/s of an H100.
const LAUNCHES: [&str; 2] = ["200", "8000"];
/// Those of each kernel under Nsight Compute.
const FEW_LAUNCHES: &str = "2";
/// Kernels that must have been sampled by both, at least.
const KERNELS: usize = 16;

/// A unit: what gpuprof samples of it, and Nsight Compute's metrics for the same.
struct Unit {
    name: &'static str,
    metric: Metric,
    theirs: Theirs,
    within: Within,
}

/// Which of Nsight Compute's values counts, of the metrics that the device has.
enum Theirs {
    First(&'static [&'static str]),
    Largest(&'static [&'static str]),
}

/// The accepted difference.
#[derive(Clone, Copy)]
enum Within {
    /// Of shares, of 1.
    Points(f64),
    /// As a part of Nsight Compute's share, if that is as large as the second number.
    PartOf(f64, f64),
}

const PIPE: Within = Within::Points(0.03);
const CACHE: Within = Within::PartOf(0.05, 0.1);

/// What all of these metrics end in.
const END: &str = ".avg.pct_of_peak_sustained_elapsed";

const UNITS: [Unit; 6] = [
    Unit {
        name: "issue",
        metric: Metric::IssueRate,
        theirs: Theirs::First(&["sm__inst_executed"]),
        within: PIPE,
    },
    Unit {
        name: "FP64",
        metric: Metric::Fp64Active,
        theirs: Theirs::First(&["sm__pipe_fp64_cycles_active", "sm__inst_executed_pipe_fp64"]),
        within: PIPE,
    },
    Unit {
        name: "ALU",
        metric: Metric::AluActive,
        theirs: Theirs::First(&["sm__inst_executed_pipe_alu", "sm__pipe_alu_cycles_active"]),
        within: PIPE,
    },
    Unit {
        name: "XU",
        metric: Metric::XuActive,
        theirs: Theirs::First(&["sm__inst_executed_pipe_xu"]),
        within: PIPE,
    },
    Unit {
        name: "L1/shared",
        metric: Metric::L1Throughput,
        theirs: Theirs::First(&["l1tex__data_pipe_lsu_wavefronts"]),
        within: CACHE,
    },
    // The parts of `lts__throughput` that the multiprocessors ask for: the others are of the
    // memory behind the cache, and of the link between its halves.
    Unit {
        name: "L2",
        metric: Metric::L2Throughput,
        theirs: Theirs::Largest(&[
            "lts__t_sectors",
            "lts__t_tag_requests",
            "lts__lts2xbar_cycles_active",
            "lts__lts2xbar_cycles_active_realtime",
            "lts__xbar2lts_cycles_active",
        ]),
        within: CACHE,
    },
];

pub(super) fn run(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let what = "shares of the peaks beside Nsight Compute's";
    let (options, arguments) = (&["--counters"], LAUNCHES.map(OsStr::new));
    let profiled = cuda_source::profiled("limits", what, options, &arguments, LIMIT, run_mode)?;
    let Profiled {
        installed: _folder,
        program,
        profile,
    } = match profiled {
        Ok(profiled) => profiled,
        Err(row) => return Ok(vec![row]),
    };
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
    let theirs = measured(&ncu, &program)?;
    rows.extend(compared(
        run_mode,
        &profile.kernels,
        &device.metrics,
        &theirs,
    ));
    Ok(rows)
}

/// Nsight Compute's values of the metrics of all units, without those that it does not have.
fn measured(ncu: &Path, program: &Path) -> Result<Metrics, String> {
    let mut plain = Command::new(program);
    process::clear_settings(&mut plain);
    plain.arg(FEW_LAUNCHES);
    let names = UNITS.iter().flat_map(|unit| unit.theirs.names());
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
    let skipped = UNITS.iter().filter(|unit| !sampled.contains(&unit.metric));
    let skipped: Vec<_> = skipped.map(|unit| unit.name).collect();
    rows.push(performance(
        run_mode,
        "kernels that both have measured",
        format!(
            "{both} of {}; units without samples: {skipped:?}",
            theirs.len()
        ),
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
        let their = unit.theirs.share(theirs);
        shown.push(format!("{} {}, {}", unit.name, text(our), text(their)));
        if !unit.within.accepts(our, their) {
            apart.push(unit.name);
        }
    }
    let mut shown = format!("{} % of {} samples", shown.join("; "), ours.samples);
    if !apart.is_empty() {
        shown = format!("{} apart: {shown}", apart.join(", "));
    }
    let wanted = "gpuprof, Nsight Compute: issue, FP64, ALU and XU within 3 points, L1/shared and \
                  L2 within 5 % of its share from 10 % up";
    performance(run_mode, name, shown, wanted, apart.is_empty())
}

impl Theirs {
    fn names(&self) -> &'static [&'static str] {
        match self {
            Self::First(names) | Self::Largest(names) => names,
        }
    }

    /// The median over the launches of one kernel, of 1.
    fn share(&self, values: &BTreeMap<String, Vec<f64>>) -> Option<f64> {
        let mut shares = self.names().iter().filter_map(|name| {
            let of_launches = values.get(&format!("{name}{END}"))?;
            Some(Spread::of(of_launches).median / 100.0)
        });
        match self {
            Self::First(_) => shares.next(),
            Self::Largest(_) => shares.max_by(f64::total_cmp),
        }
    }
}

impl Within {
    /// Whether both shares were measured and agree.
    fn accepts(self, ours: Option<f64>, theirs: Option<f64>) -> bool {
        let (Some(ours), Some(theirs)) = (ours, theirs) else {
            return false;
        };
        match self {
            Self::Points(of) => (ours - theirs).abs() <= of,
            Self::PartOf(of, from) => theirs < from || off(ours, theirs).abs() <= of,
        }
    }
}

fn text(share: Option<f64>) -> String {
    share.map_or_else(|| "none".into(), |share| format!("{:.1}", 100.0 * share))
}

#[cfg(test)]
mod tests;
