//! The rows of a function's labels.

use std::cmp::Reverse;

use super::function_name::others_label;
use super::qualifiers::Doubt;
use super::row::{Figures, per_second};
use crate::profile::{Function, LabelStats, labelled};
use crate::sanitize;
use crate::setting_values::Sort;
use crate::sorting::sort_by_key;

/// The names and figures of a function's labels in the order wanted, of at most `limit`, and of one
/// row that sums the rest.
pub(super) fn rows(function: &Function, sort: Sort, limit: usize) -> Vec<(String, Figures)> {
    let mut labels: Vec<&LabelStats> = function.labels.iter().collect();
    sort_by_key(&mut labels, |label| order(label, sort));
    let (shown, cut) = labels.split_at(limit.min(labels.len()));
    let doubt = Doubt::of(function);
    let mut rows: Vec<_> = shown
        .iter()
        .map(|label| (bracketed(&label.label), figures(label, function, doubt)))
        .collect();
    if !cut.is_empty() {
        let cut_figures = cut.iter().map(|label| figures(label, function, doubt));
        rows.push((others_label(cut.len()), sum(cut_figures)));
    }
    rows
}

/// The label as it follows a function's name, with nothing that could harm a terminal.
pub(super) fn bracketed(label: &str) -> String {
    labelled("", &sanitize::name(label))
}

fn order(label: &LabelStats, sort: Sort) -> impl Ord + use<> {
    let gpu = label.gpu.as_ref();
    let gpu_self = gpu.map_or(0, |gpu| gpu.self_ns);
    let by_gpu = (gpu_self, label.gpu_nested_ns, label.cpu_self_ns);
    Reverse(match sort {
        Sort::Gpu => (0, by_gpu),
        Sort::Cpu => (label.cpu_self_ns, by_gpu),
        Sort::Calls => (label.calls, by_gpu),
        Sort::Max => (gpu.map_or(label.cpu_max_ns, |gpu| gpu.max_ns), by_gpu),
        Sort::Name => (0, (0, 0, 0)),
    })
}

fn figures(label: &LabelStats, function: &Function, doubt: Doubt) -> Figures {
    let mut row = Figures {
        calls: label.calls,
        open_calls: (label.open_calls > 0).then_some(label.open_calls),
        open_ns: (label.open_calls > 0).then_some(label.open_ns),
        doubt: match &label.gpu {
            Some(gpu) => Doubt {
                estimated: gpu.estimate.is_some(),
                ..doubt
            },
            None => doubt,
        },
        busy: label.gpu_busy_ns,
        ..Figures::default()
    };
    if label.calls > 0 {
        row.cpu_total = Some(label.cpu_total_ns);
        row.cpu_self = Some(label.cpu_self_ns);
        row.cpu_avg = Some(label.cpu_mean_ns);
    }
    let Some(gpu) = &label.gpu else {
        let is_sum = !function.has_stream && label.gpu_nested_ns > 0;
        row.gpu_inside = is_sum.then_some(label.gpu_nested_ns);
        return row;
    };
    row.gpu_self = Some(gpu.self_ns);
    row.gpu_total = Some(gpu.total_ns);
    row.gpu_avg = Some(gpu.mean_ns);
    row.gpu_max = Some(gpu.max_ns);
    row.bytes_per_s = per_second(gpu.timed_bytes, gpu.timed_ns);
    row.flops_per_s = per_second(gpu.timed_flops, gpu.timed_ns);
    row.items_per_s = per_second(gpu.timed_items, gpu.timed_ns);
    row
}

/// Calls with different labels are no part of each other, so that their times add up.
fn sum(rows: impl Iterator<Item = Figures>) -> Figures {
    let mut all = Figures::default();
    rows.for_each(|row| all.add(&row));
    all
}
