//! The last line of a report: what shares are of, and how to see more.

use super::header;
use super::options::{FULL_REPORT, TableOptions};
use super::words::{DIM, Paragraph};
use crate::profile::Profile;

/// All work over the busy time from which rows visibly add up to more than the whole.
const OVERLAP: f64 = 1.01;

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
        let mut words = Paragraph::default();
        match profile.cupti {
            Some(_) if profile.functions.is_empty() => words.add(DIM, "Time(%) is of its table."),
            Some(_) => words.add(
                DIM,
                "Busy(%) is of the GPU's busy time, Idle(%) of the function's GPU spans, \
                 Time(%) of its table.",
            ),
            None if header::is_timed(profile) => words.add(
                DIM,
                "A GPU span is the time on the stream from a function's start to its end, idle \
                 time included; spans that overlap add up.",
            ),
            None => &mut words,
        };
        if header::is_timed(profile) && profile.is_cupti_off() {
            words.add(
                DIM,
                "GPUPROF_CUPTI=on shows busy times, kernels, and what to change.",
            );
        }
        let work_ns = header::work_ns(profile);
        let busy_ns = header::wholes(profile).busy_ns;
        if busy_ns.is_some_and(|busy_ns| work_ns as f64 > OVERLAP * busy_ns as f64) {
            words.add(
                DIM,
                "Work that ran at the same time counts in each of its rows.",
            );
        }
        if profile.findings.len() > 1 {
            words.add(DIM, "Savings may overlap.");
        }
        let lacks_calls = profile.cupti.as_ref().is_some_and(|cupti| !cupti.all_calls);
        if lacks_calls && !profile.api.is_empty() {
            words.add(
                DIM,
                match profile.memory {
                    // It records these calls.
                    Some(_) => "GPUPROF_CUPTI=full adds look-ups of kernels to the API calls.",
                    None => "GPUPROF_CUPTI=full adds allocations and frees to the API calls.",
                },
            );
        }
        let counted = |n: usize, one: &str, many: &str| match n {
            0 => None,
            1 => Some(format!("1 {one}")),
            n => Some(format!("{n} {many}")),
        };
        let rows = counted(self.rows, "row", "rows");
        let findings = counted(self.findings, "finding", "findings");
        let more: Vec<String> = rows.into_iter().chain(findings).collect();
        if !more.is_empty() {
            let full_report = options.full_report.unwrap_or(FULL_REPORT);
            words.add(DIM, &format!("{} more: {full_report}.", more.join(", ")));
        }
        if let Some(columns) = counted(self.columns, "column", "columns") {
            words.add(DIM, &format!("{columns} more in a wider terminal."));
        }
        if !words.is_empty() {
            words.write(out, options.color, options.width, 2);
        }
    }
}
