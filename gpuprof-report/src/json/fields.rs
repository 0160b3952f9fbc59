//! The fields of each struct of a profile. A struct of which a field is missing here does not
//! compile.

use super::writer::{Fields, Object, Value, Writer};
use crate::profile::{
    ApiKind, ApiStats, Benchmark, Bucket, BusyRecords, CapturedRuns, CollectiveRanks, Command,
    CopyKind, CopyStats, CounterMean, CounterValues, CudaError, Cupti, Device, DeviceCounters,
    Diagnostics, DurationStats, Estimate, Finding, FindingRule, Function, FunctionMemory,
    FunctionRanks, GpuActivity, GpuBusy, GpuSpanStats, KernelStats, LabelGpuStats, LabelStats,
    LaunchLine, LaunchStacks, Memory, MemoryKind, MemorySource, MemoryTotals, MemoryUse, MetaPair,
    Metric, NodeActivity, Parameter, PeakRate, PoolMemory, Precision, Profile, RankProcess,
    RankSpread, Ranks, ScheduleSteps, SlowStep, SpanStats, StepTimes, Throttle, ThrottleReason,
    TreeNode, UntimedReasons,
};
use crate::schedule::Schedule;
use crate::settings::Sampling;

/// `field: flatten` is a field whose own fields are written in its place. A field marked
/// `unless_default` or `flatten_unless_default` is omitted where it holds its default.
macro_rules! objects {
    ($($name:ident { $($field:ident $(: $flatten:ident)?),* $(,)? })*) => {
        $(
            impl Object for $name {
                fn write_fields(&self, fields: &mut Fields<'_>) {
                    let Self { $($field),* } = self;
                    $(objects!(@ fields $field $($flatten)?);)*
                }
            }
        )*
    };
    (@ $fields:ident $field:ident) => {
        $fields.field(stringify!($field), $field)
    };
    (@ $fields:ident $field:ident flatten) => {
        $field.write_fields($fields)
    };
    (@ $fields:ident $field:ident flatten_unless_default) => {
        if !is_default($field) {
            $field.write_fields($fields)
        }
    };
    (@ $fields:ident $field:ident unless_default) => {
        if !is_default($field) {
            $fields.field(stringify!($field), $field)
        }
    };
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

objects! {
    Profile {
        schema, program, pid, host, rank, world_size: unless_default, meta, started_at, wall_ns,
        at_exit, schedule,
        steps: unless_default, devices, gpu_busy, functions, tree, cupti, kernels, copies, api,
        counters: unless_default, stacks: unless_default,
        throttled, memory: unless_default, findings, commands,
        ranks: unless_default,
        benchmarks: unless_default, diagnostics,
    }

    Benchmark {
        function, name, parameters, mode, device, bytes, flops, calls_per_sample, median_ns,
        median_low_ns, median_high_ns, noise,
        event_overhead_ns, throttled_samples, converged, sm_clock_mhz, notes,
    }

    Parameter {
        name, value,
    }

    MetaPair {
        key, value,
    }

    Ranks {
        profiles, hosts, numbers: unless_default, collectives: unless_default, functions,
    }

    FunctionRanks {
        function, profiles, cpu, gpu, busy, collectives: unless_default,
    }

    CollectiveRanks {
        profiles, calls, min_ns, mean_ns, max_ns, least, least_other_ns, most, other,
        one_sided_mean_ns,
    }

    RankProcess {
        rank, host, pid,
    }

    RankSpread {
        min_ns, mean_ns, max_ns, imbalance, slowest_rank, slowest_host, slowest_pid,
    }

    ScheduleSteps {
        schedule: flatten, steps, measured_steps, cycles,
    }

    StepTimes {
        count, total_ns, mean_ns, min_ns, max_ns, slowest, series_ns,
    }

    SlowStep {
        step, ns, rank: unless_default,
    }

    Device {
        ordinal, name, uuid, compute_capability, sm_count, memory_bytes, peak_bytes_per_s,
        peak_link_bytes_per_s: unless_default,
        peak_flops_f32, peak_flops_f64, peak_flops, l2_bytes, l1_bytes_per_sm, threads_per_sm,
        blocks_per_sm, registers_per_sm,
        shared_bytes_per_sm, reserved_shared_bytes_per_block, driver, simulated,
    }

    PeakRate {
        precision, flops_per_s,
    }

    Throttle {
        device, reasons, sm_clock_mhz, max_sm_clock_mhz, mean_sm_clock_mhz, throttled_ns,
        sampled_ns,
    }

    Function {
        name, module, file, line, calls, open_calls: unless_default, open_ns: unless_default,
        threads, cpu, wall, gpu, gpu_by_device,
        gpu_nested_ns, gpu_divided_calls: unless_default, gpu_inherited_calls: unless_default,
        gpu_host_calls: unless_default, unnested_calls: unless_default, gpu_overlaps,
        gpu_nested_partial,
        gpu_nested_divided: unless_default, gpu_nested_estimated, captured_calls,
        captured_estimated: unless_default,
        untimed_calls, untimed, bytes, flops, items, precision: unless_default, has_stream,
        cpu_only, is_async,
        labels: unless_default, memory: unless_default, pool_memory: unless_default,
        activity: flatten_unless_default,
    }

    TreeNode {
        id, parent, name, label: unless_default, function, calls, open_calls: unless_default,
        open_ns: unless_default, cpu_total_ns, cpu_self_ns, gpu_total_ns, gpu_self_ns,
        gpu_estimate: unless_default, gpu_nested_ns, busy_ns: unless_default,
        idle_ns: unless_default,
        activities: unless_default, captured,
    }

    NodeActivity {
        kernel, copies, calls, total_ns,
    }

    GpuBusy {
        device, busy_ns, is_estimated: unless_default, busy_ci95_ns, is_upper_bound, records,
    }

    BusyRecords {
        kernel_ns, copy_only_ns, gaps, idle_host_ns, idle_launch_ns, idle_queued_ns,
    }

    LabelStats {
        label, calls, open_calls: unless_default, open_ns: unless_default, cpu_total_ns,
        cpu_self_ns, cpu_mean_ns, cpu_max_ns, gpu, gpu_nested_ns, gpu_busy_ns,
    }

    LabelGpuStats {
        timed_calls, total_ns, self_ns, estimate: unless_default, mean_ns, max_ns, timed_bytes,
        timed_flops, timed_items, timed_ns,
    }

    CapturedRuns {
        replays, busy_ns,
    }

    SpanStats {
        total_ns, self_ns, sum_ns: unless_default, mean_ns, min_ns, max_ns, stddev_ns, p50_ns,
        p90_ns, p95_ns, p99_ns, histogram,
    }

    GpuSpanStats {
        device, timed_calls, times: flatten, estimate, timed_bytes, timed_flops, timed_items,
        timed_ns,
    }

    Estimate {
        total_ci95_ns,
    }

    Cupti {
        version, library, all_calls, records, dropped_records, invalid_records, unfinished,
        late_records, records_without_call, dropped_calls, unattributed, unattributed_ns,
        unattributed_graph_nodes,
    }

    DeviceCounters {
        device, chip, interval_ns, start_ns, metrics, omitted, samples, sampled_ns, unattributed_ns,
        dram_bytes, unattributed_dram_bytes, gap_ns, overflows, late_ns,
    }

    CounterValues {
        samples, sampled_ns, is_divided, means,
    }

    CounterMean {
        metric, mean, ci95,
    }

    DurationStats {
        calls, total_ns, mean_ns, min_ns, max_ns, p50_ns, p99_ns, histogram: unless_default,
    }

    KernelStats {
        name, full_name, symbol, device, times: flatten, graph_calls, launch_latency, grid, block,
        shapes, registers, static_shared_bytes, dynamic_shared_bytes, local_bytes_per_thread,
        occupancy, streams, concurrent_ns, counters: unless_default, launch_lines: unless_default,
    }

    LaunchLine {
        function, file, line, caller: unless_default, in_framework: unless_default, calls, total_ns,
    }

    LaunchStacks {
        calls, sampled_calls, unattributed,
    }

    CopyStats {
        kind, device, times: flatten, bytes, pageable_calls, pageable_ns, blocking_calls,
        exposed_ns, streams,
    }

    ApiStats {
        name, kind, times: flatten, failed,
    }

    GpuActivity {
        kernels, copies, api, busy_ns, idle_ns, outside_span_ns, busy_calls, activities, launches,
        work_streams, launch_latency, first_call_ns, counters: unless_default,
    }

    Memory {
        source, uses, outside, unknown_frees, unknown_freed_bytes, missed_frees,
        untracked_allocations, untracked_bytes, late_records, records_without_call,
    }

    MemoryUse {
        kind, device, totals: flatten, live_allocations, live_bytes, peak_bytes, peak_function,
        reserved_bytes, peak_reserved_bytes,
    }

    MemoryTotals {
        allocations, allocated_bytes, frees, freed_bytes,
    }

    FunctionMemory {
        kind, inclusive, exclusive, live_allocations, live_bytes, peak_growth_bytes,
    }

    PoolMemory {
        calls, grown_bytes, shrunk_bytes, peak_growth_bytes: unless_default,
    }

    Finding {
        rule, function, gain_ns, evidence, advice,
    }

    Command {
        what, line,
    }

    Diagnostics {
        event_overhead_ns, overhead_ns_per_call, overhead_ns, cpu_span_ns, setup_ns, stalled_ns,
        live_ns: unless_default, no_cuda: unless_default, calls,
        calls_with_stream, timed_calls, captured_calls, untimed, sampling, dropped,
        histogram_dropped, misnested, invalid_amounts, errors, notes,
    }

    CudaError {
        call, code, name, count,
    }

    UntimedReasons {
        no_stream: unless_default,
        sampled_out: unless_default,
        pool_exhausted: unless_default,
        queue_full: unless_default,
        cuda_error: unless_default,
        unavailable: unless_default,
        unfinished: unless_default,
        stream_unsafe: unless_default,
        crossed_reset: unless_default,
    }

    Schedule {
        wait, warmup, active, repeat,
    }
}

impl Value for Bucket {
    fn write(&self, writer: &mut Writer) {
        let Self { index, count } = self;
        writer.array([index as &dyn Value, count].into_iter());
    }
}

impl Value for Sampling {
    fn write(&self, writer: &mut Writer) {
        match self {
            Self::EveryCall => writer.string("every_call"),
            Self::OneIn(calls) => writer.object(&OneIn {
                one_in: calls.get(),
            }),
            Self::Auto { budget_ppm } => writer.object(&Auto {
                auto: Budget {
                    budget_ppm: budget_ppm.get(),
                },
            }),
        }
    }
}

struct OneIn {
    one_in: u32,
}

struct Auto {
    auto: Budget,
}

struct Budget {
    budget_ppm: u32,
}

objects! {
    OneIn { one_in }

    Auto { auto }

    Budget { budget_ppm }
}

impl Value for std::num::NonZeroU32 {
    fn write(&self, writer: &mut Writer) {
        self.get().write(writer);
    }
}

macro_rules! words {
    ($($name:ident)*) => {
        $(
            impl Value for $name {
                fn write(&self, writer: &mut Writer) {
                    writer.string(self.as_str());
                }
            }
        )*
    };
}

words! { ApiKind CopyKind FindingRule MemoryKind MemorySource Metric Precision ThrottleReason }
