//! The rows of a profile without functions: kernels, copies and CUDA calls.

use super::cells::{Listed, amount, counter_columns, device_cell, measured, text_cell};
use crate::profile::{ApiStats, CopyStats, Device, DurationStats, KernelStats, Profile};

/// Cells with the columns that they belong to.
type Cells = Vec<(String, String)>;

/// Appends the rows: kernels, copies, and then calls, each as the profile orders them.
pub(super) fn write(profile: &Profile, listed: &Listed<'_>, header: &[String], text: &mut String) {
    let devices = &profile.devices;
    let kernels = profile
        .kernels
        .iter()
        .map(|one| kernel(one, listed, devices));
    let copies = profile.copies.iter().map(|one| copies(one, devices));
    let calls = profile.api.iter().map(|one| call(one, devices));
    for cells in kernels.chain(copies).chain(calls) {
        let of = |column: &String| {
            let cell = cells.iter().find(|(name, _)| name == column);
            cell.map_or("", |(_, cell)| cell.as_str())
        };
        let row: Vec<_> = header.iter().map(of).collect();
        text.push_str(&row.join(","));
        text.push('\n');
    }
}

fn kernel(kernel: &KernelStats, listed: &Listed<'_>, devices: &[Device]) -> Cells {
    let mut cells = gpu(&kernel.name, &kernel.times, kernel.device, devices);
    let means = measured(kernel.counters.as_deref(), listed);
    cells.extend(counter_columns(listed).into_iter().zip(means));
    cells
}

fn copies(copies: &CopyStats, devices: &[Device]) -> Cells {
    let (name, times) = (copies.kind.row_name(), &copies.times);
    let mut cells = gpu(&name, times, copies.device, devices);
    let per_s = copies.bytes as f64 / times.total_ns as f64 * 1e9;
    cells.push(("bytes".into(), copies.bytes.to_string()));
    cells.push(("bytes_per_s".into(), amount(Some(per_s))));
    cells
}

fn gpu(name: &str, times: &DurationStats, device: u32, devices: &[Device]) -> Cells {
    let mut cells = row(
        name,
        "gpu",
        times,
        device_cell([device].into_iter(), devices),
    );
    cells.push(("gpu_timed_calls".into(), times.calls.to_string()));
    // Nothing is inside a kernel.
    cells.push(("gpu_self_ns".into(), times.total_ns.to_string()));
    cells
}

fn call(call: &ApiStats, devices: &[Device]) -> Cells {
    let device = device_cell([].into_iter(), devices);
    row(&call.name, "cpu", &call.times, device)
}

/// The cells that all rows have, with the times of this prefix.
fn row(name: &str, prefix: &str, times: &DurationStats, device: String) -> Cells {
    let times_ns = [
        ("total", times.total_ns),
        ("mean", times.mean_ns),
        ("min", times.min_ns),
        ("p50", times.p50_ns),
        ("p99", times.p99_ns),
        ("max", times.max_ns),
    ];
    let times_ns = times_ns.map(|(which, ns)| (format!("{prefix}_{which}_ns"), ns.to_string()));
    let mut cells = vec![
        ("function".into(), text_cell(name)),
        ("calls".into(), times.calls.to_string()),
        ("device".into(), device),
    ];
    cells.extend(times_ns);
    cells
}
