//! The tables of processes and of their devices.

use std::borrow::Cow;

use gpuprof_report::profile::{Device, GpuBusy};

use super::columns::{Cell, FleetColumn, Process, Row, column, joined, process_columns, rows_of};

pub(super) fn process_rows(process: Process<'_>) -> Vec<Row<'_, ()>> {
    rows_of(process, [()])
}

/// The columns of `processes`: one row for each process.
pub(super) fn process_table<'a>() -> Vec<FleetColumn<Row<'a, ()>>> {
    joined([process_columns(), process_facts()])
}

fn process_facts<'a>() -> Vec<FleetColumn<Row<'a, ()>>> {
    vec![
        column(
            "pid",
            "process id",
            Cell::Number(|row| u64::from(row.process.profile.pid)),
        ),
        column(
            "world_size",
            "ranks of the job; NULL if unknown",
            Cell::OptionalNumber(|row| row.process.profile.world_size.map(u64::from)),
        ),
        column(
            "program",
            "file name of the program",
            Cell::Text(|row| &row.process.profile.program),
        ),
        column(
            "profile",
            "file that the process was exported from",
            Cell::Text(|row| row.process.path),
        ),
        column(
            "started_at",
            "when measuring began, RFC 3339 in UTC",
            Cell::Text(|row| &row.process.profile.started_at),
        ),
        column(
            "wall_ns",
            "measured time",
            Cell::Number(|row| row.process.profile.wall_ns),
        ),
        column(
            "at_exit",
            "whether the profile was taken when the process ended",
            Cell::Flag(|row| row.process.profile.at_exit),
        ),
        column(
            "has_cupti",
            "whether CUPTI recorded kernels, copies and CUDA calls",
            Cell::Flag(|row| row.process.profile.cupti.is_some()),
        ),
        column(
            "calls",
            "calls of annotated functions that ended",
            Cell::Number(|row| row.process.profile.diagnostics.calls),
        ),
        column(
            "timed_calls",
            "calls that were GPU-timed",
            Cell::Number(|row| row.process.profile.diagnostics.timed_calls),
        ),
        column(
            "untimed_calls",
            "calls with a stream that were neither GPU-timed nor captured",
            Cell::Number(|row| row.process.profile.diagnostics.untimed.sum()),
        ),
        column(
            "dropped_calls",
            "calls for which there was no room",
            Cell::Number(|row| row.process.profile.diagnostics.dropped),
        ),
        column(
            "cuda_errors",
            "driver calls of gpuprof that failed",
            Cell::Number(|row| {
                let errors = row.process.profile.diagnostics.errors.iter();
                errors.fold(0, |sum, error| sum.saturating_add(error.count))
            }),
        ),
        column(
            "overhead_ns",
            "what gpuprof itself cost",
            Cell::Number(|row| row.process.profile.diagnostics.overhead_ns),
        ),
        column(
            "simulated",
            "whether a device was the simulated device: its times are modelled",
            Cell::Flag(|row| {
                row.process
                    .profile
                    .devices
                    .iter()
                    .any(|device| device.simulated)
            }),
        ),
        column(
            "meta",
            "facts about the run, such as `meta['commit']`: those of `GPUPROF_META`, and the \
             program's arguments",
            Cell::Pairs(|row| &row.process.profile.meta),
        ),
    ]
}

/// A device that a process used.
pub(super) struct UsedDevice<'a> {
    device: &'a Device,
    name: Cow<'a, str>,
    busy: Option<&'a GpuBusy>,
}

pub(super) fn device_rows<'a>(process: Process<'a>) -> Vec<Row<'a, UsedDevice<'a>>> {
    let profile = process.profile;
    let used = profile.devices.iter().map(|device| UsedDevice {
        device,
        name: device.shown_name(),
        busy: (profile.gpu_busy.iter()).find(|busy| busy.device == device.ordinal),
    });
    rows_of(process, used)
}

/// The columns of `devices`: one row for each device that a process used.
pub(super) fn device_table<'a>() -> Vec<FleetColumn<Row<'a, UsedDevice<'a>>>> {
    joined([process_columns(), device_facts()])
}

fn device_facts<'a>() -> Vec<FleetColumn<Row<'a, UsedDevice<'a>>>> {
    vec![
        column(
            "device",
            "CUDA ordinal in this process",
            Cell::Number(|row| u64::from(row.of.device.ordinal)),
        ),
        column(
            "device_name",
            "name of the device; that of a simulated device says so",
            Cell::Text(|row| &row.of.name),
        ),
        column(
            "uuid",
            "what tells it apart from every other device; empty if unknown",
            Cell::Text(|row| &row.of.device.uuid),
        ),
        column(
            "multiprocessors",
            "its number of multiprocessors; NULL if unknown",
            Cell::OptionalNumber(|row| row.of.device.sm_count.map(u64::from)),
        ),
        column(
            "memory_bytes",
            "its memory; NULL if unknown",
            Cell::OptionalNumber(|row| row.of.device.memory_bytes),
        ),
        column(
            "driver",
            "version of CUDA that the driver supports",
            Cell::Text(|row| &row.of.device.driver),
        ),
        column(
            "busy_ns",
            "time in which the device worked for this process; NULL if nothing was timed on it",
            Cell::OptionalNumber(|row| Some(row.of.busy?.busy_ns)),
        ),
        column(
            "busy_ci95_ns",
            "half the 95 % interval of `busy_ns`; NULL if it has none",
            Cell::OptionalNumber(|row| row.of.busy?.busy_ci95_ns),
        ),
        column(
            "throttled_ns",
            "time with a reason to lower its clock; NULL if it kept the maximum, or without NVML",
            Cell::OptionalNumber(|row| {
                let throttled = row.process.profile.throttled.iter();
                let mut of_device =
                    throttled.filter(|throttle| throttle.device == row.of.device.ordinal);
                of_device.next().map(|throttle| throttle.throttled_ns)
            }),
        ),
    ]
}
