//! The tables of kernels: of the whole process, of each function, and their histograms.

use std::borrow::Cow;

use gpuprof_report::collectives::Collective;
use gpuprof_report::profile::{Device, KernelStats, Profile};

use super::buckets::{InRange, OfBucket, bucket_columns, filled};
use super::columns::{Cell, FleetColumn, OfProcess, Process, column, process_columns};
use super::functions::{Numbered, OfFunction, function_columns, numbered};

/// A kernel on a device.
#[derive(Clone, Debug)]
struct OnDevice<'a> {
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

/// A row about a kernel.
trait OfKernel {
    fn on_device(&self) -> &OnDevice<'_>;
}

/// The columns that say which kernel a row is about.
fn kernel_columns<R: OfKernel>() -> Vec<FleetColumn<R>> {
    vec![
        column(
            "kernel",
            "demangled name without parameters, as in the report; two processes may number their \
             variants differently",
            Cell::Text(|row| &row.on_device().kernel.name),
        ),
        column(
            "symbol",
            "name in the module, which is the same in every process; `kernel` if unknown",
            Cell::Text(|row| match &row.on_device().kernel {
                kernel if kernel.symbol.is_empty() => &kernel.name,
                kernel => &kernel.symbol,
            }),
        ),
        column(
            "collective",
            "collective of NCCL that it computes, such as `AllReduce`; NULL for other kernels",
            Cell::OptionalText(|row| {
                let kernel = row.on_device().kernel;
                Some(Collective::of_kernel(&kernel.symbol)?.operation)
            }),
        ),
        column(
            "device",
            "CUDA ordinal of its device in this process",
            Cell::Number(|row| u64::from(row.on_device().kernel.device)),
        ),
        column(
            "device_name",
            "name of the device; that of a simulated device says so; NULL if unknown",
            Cell::OptionalText(|row| row.on_device().device_name.as_deref()),
        ),
        column(
            "multiprocessors",
            "multiprocessors of the device; NULL if unknown",
            Cell::OptionalNumber(|row| row.on_device().device?.sm_count.map(u64::from)),
        ),
    ]
}

/// The figures of a kernel.
fn figure_columns<R: OfKernel>() -> Vec<FleetColumn<R>> {
    vec![
        column(
            "calls",
            "launches",
            Cell::Number(|row| row.on_device().kernel.times.calls),
        ),
        column(
            "graph_calls",
            "of these, the nodes of graphs",
            Cell::Number(|row| row.on_device().kernel.graph_calls),
        ),
        column(
            "total_ns",
            "sum of their GPU times",
            Cell::Number(|row| row.on_device().kernel.times.total_ns),
        ),
        column(
            "min_ns",
            "shortest launch; NULL if there was none, as in the next columns",
            Cell::OptionalNumber(|row| ran(row).map(|kernel| kernel.times.min_ns)),
        ),
        column(
            "max_ns",
            "longest launch",
            Cell::OptionalNumber(|row| ran(row).map(|kernel| kernel.times.max_ns)),
        ),
        column(
            "p50_ns",
            "median of this process",
            Cell::OptionalNumber(|row| ran(row).map(|kernel| kernel.times.p50_ns)),
        ),
        column(
            "p99_ns",
            "99th percentile of this process",
            Cell::OptionalNumber(|row| ran(row).map(|kernel| kernel.times.p99_ns)),
        ),
        column(
            "latency_calls",
            "launches whose latency is known",
            Cell::Number(|row| row.on_device().kernel.launch_latency.calls),
        ),
        column(
            "latency_total_ns",
            "sum of the times from the launching call to the start of the kernel",
            Cell::Number(|row| row.on_device().kernel.launch_latency.total_ns),
        ),
        column(
            "registers",
            "registers per thread of the launch shape with the most time",
            Cell::Number(|row| u64::from(row.on_device().kernel.registers)),
        ),
        column(
            "occupancy",
            "theoretical occupancy of that shape, 0 to 1; NULL if unknown",
            Cell::OptionalReal(|row| row.on_device().kernel.occupancy),
        ),
    ]
}

fn ran(row: &impl OfKernel) -> Option<&KernelStats> {
    let kernel = row.on_device().kernel;
    (kernel.times.calls > 0).then_some(kernel)
}

/// A kernel of a process.
pub(super) struct FleetKernel<'a> {
    process: Process<'a>,
    on_device: OnDevice<'a>,
}

impl OfProcess for FleetKernel<'_> {
    fn process(&self) -> &Process<'_> {
        &self.process
    }
}

impl OfKernel for FleetKernel<'_> {
    fn on_device(&self) -> &OnDevice<'_> {
        &self.on_device
    }
}

pub(super) fn kernel_rows<'a>(process: Process<'a>) -> Vec<FleetKernel<'a>> {
    let kernels = process.profile.kernels.iter();
    let rows = kernels.map(|kernel| FleetKernel {
        process,
        on_device: OnDevice::new(kernel, process.profile),
    });
    rows.collect()
}

/// The columns of `kernels`: one row for each kernel that a process ran on a device, inside and
/// outside of its functions.
pub(super) fn kernel_table<'a>() -> Vec<FleetColumn<FleetKernel<'a>>> {
    let mut columns: Vec<FleetColumn<FleetKernel<'a>>> = process_columns();
    columns.extend(kernel_columns());
    columns.extend(figure_columns());
    columns
}

/// A kernel that the calls of a function launched.
pub(super) struct FunctionKernelRow<'a> {
    of_process: FleetKernel<'a>,
    numbered: Numbered<'a>,
}

impl OfProcess for FunctionKernelRow<'_> {
    fn process(&self) -> &Process<'_> {
        &self.of_process.process
    }
}

impl OfFunction for FunctionKernelRow<'_> {
    fn numbered(&self) -> &Numbered<'_> {
        &self.numbered
    }
}

impl OfKernel for FunctionKernelRow<'_> {
    fn on_device(&self) -> &OnDevice<'_> {
        &self.of_process.on_device
    }
}

pub(super) fn function_kernel_rows<'a>(process: Process<'a>) -> Vec<FunctionKernelRow<'a>> {
    let mut rows = Vec::new();
    for numbered in numbered(process.profile) {
        let kernels = numbered.function.activity.kernels.iter();
        rows.extend(kernels.map(|kernel| FunctionKernelRow {
            of_process: FleetKernel {
                process,
                on_device: OnDevice::new(kernel, process.profile),
            },
            numbered,
        }));
    }
    rows
}

/// The columns of `function_kernels`: one row for each kernel of a function.
pub(super) fn function_kernel_table<'a>() -> Vec<FleetColumn<FunctionKernelRow<'a>>> {
    let mut columns: Vec<FleetColumn<FunctionKernelRow<'a>>> = process_columns();
    columns.extend(function_columns());
    columns.extend(kernel_columns());
    columns.extend(figure_columns());
    columns
}

/// A bucket of a kernel's histogram.
pub(super) struct KernelBucketRow<'a> {
    of_process: FleetKernel<'a>,
    in_range: InRange,
}

impl OfProcess for KernelBucketRow<'_> {
    fn process(&self) -> &Process<'_> {
        &self.of_process.process
    }
}

impl OfKernel for KernelBucketRow<'_> {
    fn on_device(&self) -> &OnDevice<'_> {
        &self.of_process.on_device
    }
}

impl OfBucket for KernelBucketRow<'_> {
    fn in_range(&self) -> InRange {
        self.in_range
    }
}

pub(super) fn kernel_bucket_rows<'a>(process: Process<'a>) -> Vec<KernelBucketRow<'a>> {
    let mut rows = Vec::new();
    for kernel in &process.profile.kernels {
        let on_device = OnDevice::new(kernel, process.profile);
        let range = (kernel.times.min_ns, kernel.times.max_ns);
        let buckets = filled(&kernel.times.histogram);
        rows.extend(buckets.map(|bucket| KernelBucketRow {
            of_process: FleetKernel {
                process,
                on_device: on_device.clone(),
            },
            in_range: InRange { bucket, range },
        }));
    }
    rows
}

/// The columns of `kernel_buckets`: one row for each bucket that is not empty.
pub(super) fn kernel_bucket_table<'a>() -> Vec<FleetColumn<KernelBucketRow<'a>>> {
    let mut columns: Vec<FleetColumn<KernelBucketRow<'a>>> = process_columns();
    columns.extend(kernel_columns());
    columns.extend(bucket_columns());
    columns
}
