//! The tables of kernels: of the whole process, of each function, and their histograms.

use std::borrow::Cow;

use gpuprof_report::collectives::Collective;
use gpuprof_report::profile::{Device, KernelStats, Profile};

use super::buckets::{InRange, bucket_columns, filled};
use super::columns::{Cell, FleetColumn, Process, Row, column, joined, process_columns, rows_of};
use super::functions::{Numbered, function_columns, rows_of_functions};

/// A kernel on a device.
#[derive(Clone, Debug)]
pub(super) struct OnDevice<'a> {
    kernel: &'a KernelStats,
    device: Option<&'a Device>,
    device_name: Option<Cow<'a, str>>,
}

impl<'a> OnDevice<'a> {
    fn new(kernel: &'a KernelStats, profile: &'a Profile) -> Self {
        let mut devices = profile.devices.iter();
        let device = devices.find(|device| device.ordinal == kernel.device);
        Self {
            kernel,
            device,
            device_name: device.map(Device::shown_name),
        }
    }
}

/// The columns that say which kernel a row is about.
fn kernel_columns<'a, N, B>() -> Vec<FleetColumn<Row<'a, OnDevice<'a>, N, B>>> {
    vec![
        column(
            "kernel",
            "demangled name without parameters, as in the report; two processes may number their \
             variants differently",
            Cell::Text(|row| &row.of.kernel.name),
        ),
        column(
            "symbol",
            "name in the module, which is the same in every process; `kernel` if unknown",
            Cell::Text(|row| match &row.of.kernel {
                kernel if kernel.symbol.is_empty() => &kernel.name,
                kernel => &kernel.symbol,
            }),
        ),
        column(
            "collective",
            "collective of NCCL that it computes, such as `AllReduce`; NULL for other kernels",
            Cell::OptionalText(|row| {
                let kernel = row.of.kernel;
                Some(Collective::of_kernel(&kernel.symbol)?.operation)
            }),
        ),
        column(
            "device",
            "CUDA ordinal of its device in this process",
            Cell::Number(|row| u64::from(row.of.kernel.device)),
        ),
        column(
            "device_name",
            "name of the device; that of a simulated device says so; NULL if unknown",
            Cell::OptionalText(|row| row.of.device_name.as_deref()),
        ),
        column(
            "multiprocessors",
            "multiprocessors of the device; NULL if unknown",
            Cell::OptionalNumber(|row| row.of.device?.sm_count.map(u64::from)),
        ),
    ]
}

/// The figures of a kernel.
fn figure_columns<'a, N>() -> Vec<FleetColumn<Row<'a, OnDevice<'a>, N>>> {
    vec![
        column(
            "calls",
            "launches",
            Cell::Number(|row| row.of.kernel.times.calls),
        ),
        column(
            "graph_calls",
            "of these, the nodes of graphs",
            Cell::Number(|row| row.of.kernel.graph_calls),
        ),
        column(
            "total_ns",
            "sum of their GPU times",
            Cell::Number(|row| row.of.kernel.times.total_ns),
        ),
        column(
            "min_ns",
            "shortest launch; NULL if there was none, as in the next columns",
            Cell::OptionalNumber(|row| ran(&row.of).map(|kernel| kernel.times.min_ns)),
        ),
        column(
            "max_ns",
            "longest launch",
            Cell::OptionalNumber(|row| ran(&row.of).map(|kernel| kernel.times.max_ns)),
        ),
        column(
            "p50_ns",
            "median of this process",
            Cell::OptionalNumber(|row| ran(&row.of).map(|kernel| kernel.times.p50_ns)),
        ),
        column(
            "p99_ns",
            "99th percentile of this process",
            Cell::OptionalNumber(|row| ran(&row.of).map(|kernel| kernel.times.p99_ns)),
        ),
        column(
            "latency_calls",
            "launches whose latency is known",
            Cell::Number(|row| row.of.kernel.launch_latency.calls),
        ),
        column(
            "latency_total_ns",
            "sum of the times from the launching call to the start of the kernel",
            Cell::Number(|row| row.of.kernel.launch_latency.total_ns),
        ),
        column(
            "registers",
            "registers per thread of the launch shape with the most time",
            Cell::Number(|row| u64::from(row.of.kernel.registers)),
        ),
        column(
            "occupancy",
            "theoretical occupancy of that shape, 0 to 1; NULL if unknown",
            Cell::OptionalReal(|row| row.of.kernel.occupancy),
        ),
    ]
}

fn ran<'a>(on_device: &OnDevice<'a>) -> Option<&'a KernelStats> {
    let kernel = on_device.kernel;
    (kernel.times.calls > 0).then_some(kernel)
}

fn on_devices<'a>(
    kernels: &'a [KernelStats],
    profile: &'a Profile,
) -> impl Iterator<Item = OnDevice<'a>> {
    let kernels = kernels.iter();
    kernels.map(|kernel| OnDevice::new(kernel, profile))
}

pub(super) fn kernel_rows<'a>(process: Process<'a>) -> Vec<Row<'a, OnDevice<'a>>> {
    let profile = process.profile;
    rows_of(process, on_devices(&profile.kernels, profile))
}

/// The columns of `kernels`: one row for each kernel that a process ran on a device, inside and
/// outside of its functions.
pub(super) fn kernel_table<'a>() -> Vec<FleetColumn<Row<'a, OnDevice<'a>>>> {
    joined([process_columns(), kernel_columns(), figure_columns()])
}

type FunctionKernelRow<'a> = Row<'a, OnDevice<'a>, Numbered<'a>>;

pub(super) fn function_kernel_rows<'a>(process: Process<'a>) -> Vec<FunctionKernelRow<'a>> {
    rows_of_functions(process, |function| {
        on_devices(&function.activity.kernels, process.profile)
    })
}

/// The columns of `function_kernels`: one row for each kernel of a function.
pub(super) fn function_kernel_table<'a>() -> Vec<FleetColumn<FunctionKernelRow<'a>>> {
    joined([
        process_columns(),
        function_columns(),
        kernel_columns(),
        figure_columns(),
    ])
}

type KernelBucketRow<'a> = Row<'a, OnDevice<'a>, (), InRange>;

pub(super) fn kernel_bucket_rows<'a>(process: Process<'a>) -> Vec<KernelBucketRow<'a>> {
    let mut rows = Vec::new();
    for on_device in on_devices(&process.profile.kernels, process.profile) {
        let times = &on_device.kernel.times;
        let range = (times.min_ns, times.max_ns);
        let buckets = filled(&times.histogram);
        rows.extend(buckets.map(|bucket| Row {
            process,
            numbered: (),
            of: on_device.clone(),
            in_range: InRange { bucket, range },
        }));
    }
    rows
}

/// The columns of `kernel_buckets`: one row for each bucket that is not empty.
pub(super) fn kernel_bucket_table<'a>() -> Vec<FleetColumn<KernelBucketRow<'a>>> {
    joined([process_columns(), kernel_columns(), bucket_columns()])
}
