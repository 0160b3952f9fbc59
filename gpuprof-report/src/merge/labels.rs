//! The labels of one function over several profiles.

use std::collections::HashMap;

use super::totals::{Uncertainty, rounded_mean};
use crate::figures::Sum;
use crate::profile::{LabelGpuStats, LabelStats, OTHER_LABELS};

/// Labels of a function that are told apart, as in one process.
const MAX_LABELS: usize = 256;

/// The calls with each label, in the order in which labels are found.
#[derive(Clone, Debug, Default)]
pub(super) struct Labels {
    index: HashMap<String, usize>,
    rows: Vec<LabelTotals>,
}

#[derive(Clone, Debug, Default)]
struct LabelTotals {
    sums: LabelStats,
    cpu_ns: u128,
    gpu: Option<MergedLabelGpu>,
}

#[derive(Clone, Debug, Default)]
struct MergedLabelGpu {
    sums: LabelGpuStats,
    /// The time of so many calls.
    ns: u128,
    calls: u64,
    uncertainty: Uncertainty,
}

impl Labels {
    pub(super) fn add(&mut self, labels: &[LabelStats]) {
        for label in labels {
            if let Some(row) = self.row(&label.label) {
                row.add(label);
            }
        }
    }

    fn row(&mut self, label: &str) -> Option<&mut LabelTotals> {
        let is_full = self.rows.len() >= MAX_LABELS && !self.index.contains_key(label);
        let label = if is_full { OTHER_LABELS } else { label };
        if let Some(at) = self.index.get(label) {
            return self.rows.get_mut(*at);
        }
        self.index.insert(label.to_owned(), self.rows.len());
        let mut row = LabelTotals::default();
        row.sums.label = label.to_owned();
        self.rows.push(row);
        self.rows.last_mut()
    }

    /// Integers first, then by name, and the other labels last, as in one process.
    pub(super) fn finish(self) -> Vec<LabelStats> {
        let mut labels: Vec<LabelStats> = self.rows.into_iter().map(LabelTotals::finish).collect();
        labels.sort_by_cached_key(|row| {
            let number = row.label.parse::<i64>();
            let is_other = row.label == OTHER_LABELS;
            (
                is_other,
                number.is_err(),
                number.unwrap_or(0),
                row.label.clone(),
            )
        });
        labels
    }
}

impl LabelTotals {
    fn add(&mut self, label: &LabelStats) {
        self.sums.add(label);
        let ns = exact_sum(label.cpu_total_ns, label.cpu_mean_ns, label.calls);
        self.cpu_ns = self.cpu_ns.saturating_add(ns);
        if let Some(gpu) = &label.gpu {
            let MergedLabelGpu {
                sums,
                ns,
                calls,
                uncertainty,
            } = self.gpu.get_or_insert_default();
            uncertainty.add_estimate(gpu.estimate.as_ref());
            // All calls that could be timed, which the mean is of.
            let of_mean = match (&gpu.estimate, gpu.mean_ns) {
                (Some(_), 1..) => (gpu.total_ns as f64 / gpu.mean_ns as f64).round() as u64,
                _ => gpu.timed_calls,
            };
            calls.add(&of_mean);
            *ns = ns.saturating_add(exact_sum(gpu.timed_ns, gpu.mean_ns, of_mean));
            sums.add(gpu);
        }
    }

    fn finish(self) -> LabelStats {
        let gpu = self.gpu.map(|gpu| LabelGpuStats {
            mean_ns: rounded_mean(gpu.ns, gpu.calls),
            estimate: gpu.uncertainty.estimate(),
            ..gpu.sums
        });
        LabelStats {
            cpu_mean_ns: rounded_mean(self.cpu_ns, self.sums.calls),
            gpu,
            ..self.sums
        }
    }
}

/// The sum of all calls: `sum_ns`, unless it contradicts the mean.
fn exact_sum(sum_ns: u64, mean_ns: u64, calls: u64) -> u128 {
    if rounded_mean(u128::from(sum_ns), calls) == mean_ns {
        u128::from(sum_ns)
    } else {
        u128::from(mean_ns) * u128::from(calls)
    }
}
