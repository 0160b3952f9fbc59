//! Writes the profiles of 1,000 generated ranks into a folder: what `cargo xtask fleets` exports,
//! merges and compares.

use std::error::Error;
use std::fs::{self, File};
use std::path::Path;

use gpuprof_report::histogram::Histogram;
use gpuprof_report::json;
use gpuprof_report::profile::{
    ApiStats, BusyRecords, CopyKind, CopyStats, CuptiCompleteness, Device, DurationStats, Function,
    GpuBusy, GpuSpanStats, KernelStats, Memory, MemoryKind, MemoryUse, MetaPair, Profile, SCHEMA,
    SpanStats, StepTimes, StepWindow,
};

const RANKS: u32 = 1_000;
const RANKS_PER_HOST: u32 = 8;

/// The rank whose calls take three times as long.
const SLOW_RANK: u32 = 637;

/// The ranks that the others wait for in collectives, and by how much, ns; and one that is late by
/// less than 5 % of its time.
const LATE_RANKS: [(u32, u64); 4] = [
    (SLOW_RANK, 5_000_000_000),
    (404, 4_000_000_000),
    (12, 3_500_000_000),
    (700, 2_500_000_000),
];

/// Ranks that are late in some of the 100 steps alone: the first and the last one, and by how much
/// in each, ns.
const LATE_STEPS: [(u32, u64, u64, u64); 2] =
    [(250, 41, 60, 60_000_000), (801, 71, 100, 80_000_000)];

/// The rank that goes on for 30 steps without a collective, so that its windows are wider.
const LONGER_RANK: u32 = 500;

/// The rank whose device has no UUID, and the one that uses the device of the rank before.
const NO_UUID: u32 = 20;
const SHARED_UUID: u32 = 42;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os()
        .nth(1)
        .ok_or("usage: fleet-samples FOLDER")?;
    let folder = Path::new(&folder);
    fs::create_dir_all(folder)?;
    for rank in 0..RANKS {
        // By name, 10 comes before 9: the order of the files is not that of the ranks.
        let mut file = File::create(folder.join(format!("{rank}.json")))?;
        json::write(&profile(rank), &mut file)?;
    }
    println!("{RANKS} profiles in {}", folder.display());
    Ok(())
}

fn profile(rank: u32) -> Profile {
    let mut random = fastrand::Rng::with_seed(u64::from(rank));
    let mut profile = Profile::default();
    profile.schema = SCHEMA.into();
    profile.program = "train".into();
    profile.host = format!("node{:03}", rank / RANKS_PER_HOST);
    (profile.rank, profile.world_size) = (Some(rank), Some(RANKS));
    profile.pid = 1_000 + rank;
    profile.started_at = format!("2026-11-01T12:00:00.{rank:03}Z");
    profile.wall_ns = 60_000_000_000 + random.u64(0..1_000_000_000);
    profile.meta = vec![
        MetaPair::new("job", "train/17 größe"),
        MetaPair::new("commit", "1f2e3d4"),
    ];
    profile.devices = vec![device(rank)];
    let mut cupti = CuptiCompleteness::default();
    cupti.version = 130_000;
    profile.cupti = Some(cupti);
    let slowness = if rank == SLOW_RANK { 3 } else { 1 };
    for number in 0..10 {
        profile
            .functions
            .push(function(number, rank, slowness, &mut random));
    }
    // Two functions that a macro makes in one line, which share name and place.
    for _ in 0..2 {
        profile
            .functions
            .push(function(10, rank, slowness, &mut random));
    }
    // On both sides of the middle of their bucket, 992 to 1023 ns.
    profile.functions.extend([constant(1_000), constant(1_020)]);
    for function in &profile.functions {
        profile.diagnostics.calls += function.calls;
        for kernel in &function.activity.kernels {
            profile.kernels.push(kernel.clone());
        }
    }
    add_collectives(&mut profile, rank, &mut random);
    add_host_side(&mut profile, rank, &mut random);
    let mut busy = GpuBusy::default();
    // With it, merged busy times of processes that ran at the same time are sums.
    busy.records = Some(BusyRecords::default());
    let times = profile
        .functions
        .iter()
        .map(|function| function.activity.busy_ns.unwrap_or(0));
    busy.busy_ns = times.sum();
    profile.gpu_busy = vec![busy];
    profile
}

/// 100 steps with a collective each, in which a late rank waits for less.
fn add_collectives(profile: &mut Profile, rank: u32, random: &mut fastrand::Rng) {
    let late = LATE_RANKS.iter().find(|(late, _)| *late == rank);
    let wait_ns = 10_000_000_000 - late.map_or(0, |(_, late_ns)| *late_ns);
    let late_ns = |step: u64| {
        let is_late = |&&(late, first, last, _): &&(u32, u64, u64, u64)| {
            late == rank && (first..=last).contains(&step)
        };
        LATE_STEPS.iter().find(is_late).map_or(0, |late| late.3)
    };
    let each = |step| wait_ns / 100 - late_ns(step) + random.u64(0..1_000_000);
    let mut times: Vec<u64> = (1..=100).map(each).collect();
    let mut kernel = KernelStats::default();
    kernel.name = "NCCL AllReduce Sum_f32_RING_LL".into();
    kernel.symbol = "ncclDevKernel_AllReduce_Sum_f32_RING_LL".into();
    kernel.times = launches(&times);
    profile.kernels.push(kernel);
    let width = if rank == LONGER_RANK { 4 } else { 2 };
    times.extend(
        (rank == LONGER_RANK)
            .then_some([0; 30])
            .into_iter()
            .flatten(),
    );
    let mut steps = StepTimes::default();
    (steps.count, steps.total_ns) = (times.len() as u64, profile.wall_ns);
    for (first_step, group) in (1..).step_by(width).zip(times.chunks(width)) {
        let mut window = StepWindow::default();
        (window.first_step, window.steps) = (first_step, group.len() as u64);
        window.wall_ns = profile.wall_ns / steps.count * window.steps;
        window.collectives = group.iter().filter(|ns| **ns > 0).count() as u64;
        window.collective_ns = group.iter().sum();
        steps.windows.push(window);
    }
    profile.steps = Some(steps);
}

/// Copies, CUDA calls and memory.
fn add_host_side(profile: &mut Profile, rank: u32, random: &mut fastrand::Rng) {
    for (kind, bytes) in [(CopyKind::HtoD, 1 << 20), (CopyKind::DtoH, 1 << 10)] {
        let mut copies = CopyStats::default();
        copies.kind = kind;
        copies.times = launches(&durations(bytes / 10, 1, random));
        copies.bytes = copies.times.calls * bytes;
        copies.pageable_ns = copies.times.total_ns / 2;
        profile.copies.push(copies);
    }
    for (name, typical) in [("cuLaunchKernel", 3_000), ("cuStreamSynchronize", 90_000)] {
        let mut api = ApiStats::default();
        api.name = name.into();
        api.times = launches(&durations(typical, 1, random));
        api.failed = u64::from(rank.is_multiple_of(100));
        profile.api.push(api);
    }
    let mut memory = Memory::default();
    for (kind, device) in [(MemoryKind::Device, Some(0)), (MemoryKind::Pinned, None)] {
        let mut of = MemoryUse::default();
        (of.kind, of.device) = (kind, device);
        (of.totals.allocations, of.totals.allocated_bytes) = (10, 10 << 20);
        (of.live_allocations, of.live_bytes) = (4, 4 << 20);
        of.peak_bytes = (u64::from(rank) << 10) + random.u64(0..1_000);
        of.peak_function = Some(format!("layer_{}", rank % 10));
        memory.uses.push(of);
    }
    profile.memory = Some(memory);
}

/// Two models, of which one is divided in two sizes.
fn device(rank: u32) -> Device {
    let mut device = Device::default();
    device.name = ["Generated GPU A", "Generated GPU B"][usize::from(rank >= 600)].into();
    device.sm_count = Some(if rank.is_multiple_of(5) { 66 } else { 132 });
    device.uuid = match rank {
        // Of an older driver.
        NO_UUID => String::new(),
        // Two processes on one device.
        SHARED_UUID => uuid(rank - 1),
        _ => uuid(rank),
    };
    device.driver = "13.0".into();
    device
}

fn uuid(rank: u32) -> String {
    format!("GPU-00000000-0000-0000-0000-{rank:012x}")
}

/// A function that takes as long in every call of every rank.
fn constant(ns: u64) -> Function {
    let mut function = Function::default();
    function.name = format!("constant_{ns}");
    (function.file, function.line) = ("src/model.rs".into(), 200);
    let times = [ns; 10];
    (function.calls, function.threads) = (times.len() as u64, 1);
    function.cpu = spans(&times, 1);
    function.cpu_only = true;
    function
}

fn function(number: u32, rank: u32, slowness: u64, random: &mut fastrand::Rng) -> Function {
    let mut function = Function::default();
    function.name = format!("layer_{number}");
    function.module = "train::model".into();
    (function.file, function.line) = ("src/model.rs".into(), 10 * number + 7);
    // The last but one runs in one of three ranks.
    if number == 9 && !rank.is_multiple_of(3) {
        return function;
    }
    function.threads = 1;
    // Between 1 µs and 1 ms, another octave for each function.
    let typical = 1_000 << number;
    let times = durations(typical, slowness, random);
    function.calls = times.len() as u64;
    function.cpu = spans(&durations_of(&times, 3), 1);
    match number {
        // On the CPU alone.
        0 => function.cpu_only = true,
        1 => {
            function.is_async = true;
            function.wall = Some(spans(&durations_of(&times, 2), 1));
        }
        // Timed in every second rank.
        2 if !rank.is_multiple_of(2) => function.has_stream = true,
        _ => {
            function.has_stream = true;
            add_gpu(&mut function, number, &times);
        }
    }
    function
}

/// GPU spans of which one in three was timed, and a kernel in each call.
fn add_gpu(function: &mut Function, number: u32, times: &[u64]) {
    let is_sampled = number == 3;
    let weight = if is_sampled { 3 } else { 1 };
    let timed: Vec<u64> = times.iter().copied().step_by(weight as usize).collect();
    let mut gpu = GpuSpanStats::default();
    gpu.device = Some(0);
    gpu.timed_calls = timed.len() as u64;
    gpu.timed_ns = timed.iter().sum();
    gpu.times = spans(&timed, weight);
    function.gpu = Some(gpu);
    let ran: Vec<u64> = times.iter().map(|ns| ns * 9 / 10).collect();
    function.activity.busy_ns = Some(ran.iter().sum());
    function.activity.busy_calls = function.calls;
    let mut kernel = KernelStats::default();
    kernel.name = format!("kernel_{number}");
    kernel.symbol = format!("_Z8kernel_{number}Pf");
    kernel.times = launches(&ran);
    function.activity.kernels = vec![kernel];
}

fn durations(typical: u64, slowness: u64, random: &mut fastrand::Rng) -> Vec<u64> {
    let calls = random.usize(50..60);
    let one = |_| {
        // One in fifty is an outlier.
        let factor = if random.u32(0..50) == 0 { 5 } else { 1 };
        slowness * factor * random.u64(typical * 3 / 4..typical * 5 / 4)
    };
    (0..calls).map(one).collect()
}

fn durations_of(times: &[u64], divisor: u64) -> Vec<u64> {
    times.iter().map(|ns| ns / divisor).collect()
}

/// Statistics of calls of which each stands for `weight`.
fn spans(times: &[u64], weight: u32) -> SpanStats {
    let mut histogram = Histogram::default();
    times.iter().for_each(|ns| histogram.record_n(*ns, weight));
    let sum = times.iter().sum::<u64>() * u64::from(weight);
    let mut stats = SpanStats::default();
    (stats.total_ns, stats.self_ns, stats.sum_ns) = (sum, sum, sum);
    stats.mean_ns = times.iter().sum::<u64>() / times.len() as u64;
    (stats.min_ns, stats.max_ns) = range(times);
    let quantile = |share| histogram.quantile(share, stats.min_ns, stats.max_ns);
    (stats.p50_ns, stats.p90_ns) = (quantile(0.50), quantile(0.90));
    (stats.p95_ns, stats.p99_ns) = (quantile(0.95), quantile(0.99));
    stats.histogram = histogram.buckets().collect();
    stats
}

fn launches(times: &[u64]) -> DurationStats {
    let spans = spans(times, 1);
    let mut stats = DurationStats::default();
    (stats.calls, stats.total_ns) = (times.len() as u64, spans.total_ns);
    (stats.mean_ns, stats.min_ns, stats.max_ns) = (spans.mean_ns, spans.min_ns, spans.max_ns);
    (stats.p50_ns, stats.p99_ns) = (spans.p50_ns, spans.p99_ns);
    stats.histogram = spans.histogram;
    stats
}

fn range(times: &[u64]) -> (u64, u64) {
    let bound = |bound: Option<&u64>| bound.copied().unwrap_or_default();
    (bound(times.iter().min()), bound(times.iter().max()))
}
