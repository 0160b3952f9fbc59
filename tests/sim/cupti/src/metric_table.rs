//! The metrics of the simulated chip. There is no NVLink.

use std::ffi::CStr;

use crate::counter_model::*;

/// How the value of a metric follows from its counter.
#[derive(Clone, Copy)]
pub(crate) enum Unit {
    Sum,
    /// Of the time, in percent.
    Percent,
    /// The ratio to another counter; not a number if that is 0.
    RatioTo(usize),
    /// The same in percent.
    PercentOf(usize),
}

/// A metric, and the counter that it is made of.
pub(crate) struct Metric {
    pub(crate) name: &'static str,
    pub(crate) counter: usize,
    pub(crate) unit: Unit,
    /// How many it takes alone.
    pub(crate) passes: usize,
}

const fn sum(name: &'static str, counter: usize) -> Metric {
    metric(name, counter, Unit::Sum, 1)
}

const fn percent(name: &'static str, counter: usize) -> Metric {
    metric(name, counter, Unit::Percent, 1)
}

const fn metric(name: &'static str, counter: usize, unit: Unit, passes: usize) -> Metric {
    Metric {
        name,
        counter,
        unit,
        passes,
    }
}

/// A share of a peak.
macro_rules! peak {
    ($base:literal) => {
        concat!($base, ".avg.pct_of_peak_sustained_elapsed")
    };
}

pub(crate) const METRICS: [Metric; 31] = [
    sum("dram__bytes_read.sum", DRAM_READ),
    sum("dram__bytes_write.sum", DRAM_WRITE),
    percent(peak!("sm__cycles_active"), SM_ACTIVE),
    percent(
        peak!("sm__pipe_tensor_cycles_active_realtime"),
        TENSOR_ACTIVE,
    ),
    percent(peak!("sm__inst_executed_realtime"), ISSUE_RATE),
    sum("pcie__read_bytes.sum", PCIE_READ),
    sum("pcie__write_bytes.sum", PCIE_WRITE),
    percent(
        peak!("TPC.TriageCompute.sm__pipe_fp64_cycles_active_realtime"),
        FP64_ACTIVE,
    ),
    percent(peak!("LTS.TriageCompute.lts__throughput"), L2_THROUGHPUT),
    percent(peak!("l1tex__data_pipe_lsu_wavefronts"), L1_THROUGHPUT),
    percent(
        peak!("TPC.TriageCompute.sm__inst_executed_pipe_alu_realtime"),
        ALU_ACTIVE,
    ),
    percent(peak!("sm__inst_executed_pipe_xu_realtime"), XU_ACTIVE),
    // What it samples in turn. Nothing counts what tensor cores multiply.
    percent(peak!("sm__warps_active_realtime"), WARPS_ACTIVE),
    sum(
        "sm__thread_inst_executed_pred_on_realtime.sum",
        THREAD_INSTRUCTIONS,
    ),
    sum("sm__inst_executed_realtime.sum", INSTRUCTIONS),
    sum("l1tex__data_pipe_lsu_wavefronts.sum", PASSES),
    sum(
        "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
        SHARED_PASSES,
    ),
    sum(
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
        CONFLICTS,
    ),
    sum("sm__inst_executed_pipe_lsu.sum", ACCESSES),
    percent(
        peak!("l1tex__data_pipe_lsu_wavefronts_mem_shared"),
        SHARED_THROUGHPUT,
    ),
    // What gpuprof samples only if it is listed.
    percent(peak!("sm__warps_active"), WARPS_ACTIVE),
    sum("lts__t_sectors.sum", L2_SECTORS),
    percent(peak!("lts__t_sectors"), L2_THROUGHPUT),
    sum("lts__t_sectors_lookup_hit.sum", L2_HITS),
    metric(
        "lts__t_sector_hit_rate.pct",
        L2_HITS,
        Unit::PercentOf(L2_SECTORS),
        1,
    ),
    metric(
        "lts__t_sector_hit_rate.ratio",
        L2_HITS,
        Unit::RatioTo(L2_SECTORS),
        1,
    ),
    metric("smsp__thread_inst_executed.sum", ISSUE_RATE, Unit::Sum, 2),
    metric("smsp__thread_inst_issued.sum", ISSUE_RATE, Unit::Sum, 2),
    sum("smsp__threads_inst_issued.sum", ISSUE_RATE),
    sum("sm__cycles_active.sum", SM_ACTIVE),
    sum("sm__cycles_elapsed.sum", SM_ACTIVE),
];

/// The base metrics that have counts, ratios, and throughputs: those of [`METRICS`], and a clock.
pub(crate) const BASE_METRICS: [&[&CStr]; 3] = [
    &[
        c"dram__bytes_read",
        c"dram__bytes_write",
        c"sm__cycles_active",
        c"sm__pipe_tensor_cycles_active_realtime",
        c"sm__inst_executed_realtime",
        c"pcie__read_bytes",
        c"pcie__write_bytes",
        c"TPC.TriageCompute.sm__pipe_fp64_cycles_active_realtime",
        c"l1tex__data_pipe_lsu_wavefronts",
        c"TPC.TriageCompute.sm__inst_executed_pipe_alu_realtime",
        c"sm__inst_executed_pipe_xu_realtime",
        c"sm__cycles_elapsed",
        c"sm__warps_active",
        c"lts__t_sectors",
        c"lts__t_sectors_lookup_hit",
        c"smsp__thread_inst_executed",
        c"smsp__thread_inst_issued",
        c"smsp__threads_inst_issued",
    ],
    &[c"lts__t_sector_hit_rate"],
    &[c"LTS.TriageCompute.lts__throughput"],
];
