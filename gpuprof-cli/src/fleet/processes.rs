//! The tables of processes and of their devices.

use std::borrow::Cow;

use gpuprof_report::profile::{Device, GpuBusy};

use super::columns::{Cell, FleetColumn, OfProcess, Process, column, process_columns};

impl OfProcess for Process<'_> {
    fn process(&self) -> &Process<'_> {
        self
    }
}

/// The columns of `processes`: one row for each process.
pub(super) fn process_table<'a>() -> Vec<FleetColumn<Process<'a>>> {
    let mut columns = process_columns();
    columns.extend(process_facts());
    columns
}

fn process_facts<'a>() -> Vec<FleetColumn<Process<'a>>> {
    vec![
        column(
            "pid",
            "process id",
            Cell::Number(|row| u64::from(row.profile.pid)),
        ),
        column(
            "world_size",
            "ranks of the job; NULL if unknown",
            Cell::OptionalNumber(|row| row.profile.world_size.map(u64::from)),
        ),
        column(
            "program",
            "file name of the program",
            Cell::Text(|row| &row.profile.program),
        ),
        column(
            "profile",
            "file that the process was exported from",
            Cell::Text(|row| row.path),
        ),
        column(
            "started_at",
            "when measuring began, RFC 3339 in UTC",
            Cell::Text(|row| &row.profile.started_at),
        ),
        column(
            "wall_ns",
            "measured time",
            Cell::Number(|row| row.profile.wall_ns),
        ),
        column(
            "at_exit",
            "whether the profile was taken when the process ended",
            Cell::Flag(|row| row.profile.at_exit),
        ),
        column(
            "has_cupti",
            "whether CUPTI recorded kernels, copies and CUDA calls",
            Cell::Flag(|row| row.profile.cupti.is_some()),
        ),
        column(
            "calls",
            "calls of annotated functions that ended",
            Cell::Number(|row| row.profile.diagnostics.calls),
        ),
        column(
            "timed_calls",
            "calls that were GPU-timed",
            Cell::Number(|row| row.profile.diagnostics.timed_calls),
        ),
        column(
            "untimed_calls",
            "calls with a stream that were neither GPU-timed nor captured",
            Cell::Number(|row| row.profile.diagnostics.untimed.sum()),
        ),
        column(
            "dropped_calls",
            "calls for which there was no room",
            Cell::Number(|row| row.profile.diagnostics.dropped),
        ),
        column(
            "cuda_errors",
            "driver calls of gpuprof that failed",
            Cell::Number(|row| {
                let errors = row.profile.diagnostics.errors.iter();
                errors.fold(0, |sum, error| sum.saturating_add(error.count))
            }),
        ),
        column(
            "overhead_ns",
            "what gpuprof itself cost",
            Cell::Number(|row| row.profile.diagnostics.overhead_ns),
        ),
        column(
            "simulated",
            "whether a device was the simulated device: its times are modelled",
            Cell::Flag(|row| row.profile.devices.iter().any(|device| device.simulated)),
        ),
        column(
            "meta",
            "facts about the run, such as `meta['commit']`: those of `GPUPROF_META`, and the \
             program's arguments",
            Cell::Pairs(|row| &row.profile.meta),
        ),
    ]
}

/// A device of a process.
pub(super) struct FleetDevice<'a> {
    process: Process<'a>,
    device: &'a Device,
    name: Cow<'a, str>,
    busy: Option<&'a GpuBusy>,
}

impl OfProcess for FleetDevice<'_> {
    fn process(&self) -> &Process<'_> {
        &self.process
    }
}

pub(super) fn device_rows<'a>(process: Process<'a>) -> Vec<FleetDevice<'a>> {
    let profile = process.profile;
    let rows = profile.devices.iter().map(|device| FleetDevice {
        process,
        device,
        name: device.shown_name(),
        busy: (profile.gpu_busy.iter()).find(|busy| busy.device == device.ordinal),
    });
    rows.collect()
}

/// The columns of `devices`: one row for each device that a process used.
pub(super) fn device_table<'a>() -> Vec<FleetColumn<FleetDevice<'a>>> {
    let mut columns = process_columns();
    columns.extend(device_facts());
    columns
}

fn device_facts<'a>() -> Vec<FleetColumn<FleetDevice<'a>>> {
    vec![
        column(
            "device",
            "CUDA ordinal in this process",
            Cell::Number(|row| u64::from(row.device.ordinal)),
        ),
        column(
            "device_name",
            "name of the device; that of a simulated device says so",
            Cell::Text(|row| &row.name),
        ),
        column(
            "uuid",
            "what tells it apart from every other device; empty if unknown",
            Cell::Text(|row| &row.device.uuid),
        ),
        column(
            "multiprocessors",
            "its number of multiprocessors; NULL if unknown",
            Cell::OptionalNumber(|row| row.device.sm_count.map(u64::from)),
        ),
        column(
            "memory_bytes",
            "its memory; NULL if unknown",
            Cell::OptionalNumber(|row| row.device.memory_bytes),
        ),
        column(
            "driver",
            "version of CUDA that the driver supports",
            Cell::Text(|row| &row.device.driver),
        ),
        column(
            "busy_ns",
            "time in which the device worked for this process; NULL if nothing was timed on it",
            Cell::OptionalNumber(|row| Some(row.busy?.busy_ns)),
        ),
        column(
            "busy_ci95_ns",
            "half the 95 % interval of `busy_ns`; NULL if it has none",
            Cell::OptionalNumber(|row| row.busy?.busy_ci95_ns),
        ),
        column(
            "throttled_ns",
            "time with a reason to lower its clock; NULL if it kept the maximum, or without NVML",
            Cell::OptionalNumber(|row| {
                let throttled = row.process.profile.throttled.iter();
                let mut of_device =
                    throttled.filter(|throttle| throttle.device == row.device.ordinal);
                of_device.next().map(|throttle| throttle.throttled_ns)
            }),
        ),
    ]
}
