//! The last line of a report: what shares are of, and how to see more.

use super::options::TableOptions;
use super::words::{DIM, Words};
use crate::profile::Profile;

/// How much the report leaves out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Hidden {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) findings: usize,
}

impl Hidden {
    /// Writes the line.
    pub(super) fn write(self, profile: &Profile, options: &TableOptions, out: &mut String) {
        let mut words = Words::default();
        let is_timed = profile
            .functions
            .iter()
            .any(|function| function.gpu.is_some());
        match profile.cupti {
            Some(_) => words.add(
                DIM,
                "Busy(%) is of the GPU's busy time, Idle(%) of the function's GPU spans, \
                 Time(%) of its table.",
            ),
            None if is_timed => words.add(
                DIM,
                "GPU spans include idle time: GPUPROF_CUPTI=on shows busy times, kernels, and what \
                 to change.",
            ),
            None => &mut words,
        };
        let lacks_calls = profile.cupti.as_ref().is_some_and(|cupti| !cupti.all_calls);
        if lacks_calls && !profile.api.is_empty() {
            words.add(
                DIM,
                "GPUPROF_CUPTI=full adds allocations and frees to the API calls.",
            );
        }
        let counts = [
            (self.rows, "row", "rows"),
            (self.columns, "column", "columns"),
            (self.findings, "finding", "findings"),
        ];
        let parts = counts.iter().filter(|(n, ..)| *n > 0);
        let parts: Vec<String> = parts
            .map(|(n, one, many)| format!("{n} {}", if *n == 1 { one } else { many }))
            .collect();
        if !parts.is_empty() {
            let more = parts.join(", ");
            words.add(
                DIM,
                &match options.full {
                    true => format!("{more} did not fit: widen the terminal."),
                    false => format!("{more} more: GPUPROF_REPORT=table:full."),
                },
            );
        }
        if !words.is_empty() {
            words.write(out, options.color, options.width, 2);
        }
    }
}
