//! The result of a run as plain data. It is written as JSON, and the table is made from it.

use serde::{Deserialize, Serialize};

use crate::check::{Row, Verdict};

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Outcome {
    /// Version of gpuprof.
    pub(crate) gpuprof: String,
    /// Start of the run, RFC 3339 in UTC.
    pub(crate) date: String,
    /// The command line.
    pub(crate) command: String,
    /// True if counts were small: no figure is then a measurement.
    pub(crate) short: bool,
    pub(crate) machine: Machine,
    pub(crate) parts: Vec<Part>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Machine {
    /// Name of device 0 from the driver.
    pub(crate) device: String,
    /// Number of devices.
    pub(crate) devices: u32,
    /// True for simulated devices, whose times are not measurements.
    pub(crate) simulated: bool,
    /// Version of the driver, such as `580.65.06`.
    pub(crate) driver: String,
    /// CUDA version of the driver, such as `13.0`.
    pub(crate) cuda: String,
    /// Model of the host's processor.
    pub(crate) cpu: String,
    /// Processors that this process may use.
    pub(crate) cpus: u32,
    /// Release of the operating system's kernel.
    pub(crate) kernel: String,
}

/// The rows of one check, or of the examples.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Part {
    /// Name of the check.
    pub(crate) name: String,
    /// The promise in one sentence.
    pub(crate) promise: String,
    /// Duration in seconds.
    pub(crate) seconds: f64,
    pub(crate) rows: Vec<Row>,
}

impl Outcome {
    /// The number of rows with this verdict.
    pub(crate) fn count(&self, verdict: Verdict) -> usize {
        let rows = self.parts.iter().flat_map(|part| &part.rows);
        rows.filter(|row| row.verdict == verdict).count()
    }
}

impl Row {
    /// A row whose measured value is accepted or not.
    pub(crate) fn judged(
        what: impl Into<String>,
        measured: impl Into<String>,
        wanted: impl Into<String>,
        passed: bool,
    ) -> Row {
        Row {
            what: what.into(),
            measured: measured.into(),
            wanted: wanted.into(),
            verdict: if passed { Verdict::Pass } else { Verdict::Fail },
        }
    }

    /// A row about which nothing is promised.
    pub(crate) fn info(what: impl Into<String>, measured: impl Into<String>) -> Row {
        Row {
            what: what.into(),
            measured: measured.into(),
            wanted: String::new(),
            verdict: Verdict::Info,
        }
    }

    /// A row that cannot be measured on this machine, with the reason.
    pub(crate) fn unavailable(what: impl Into<String>, why: impl Into<String>) -> Row {
        Row {
            what: what.into(),
            measured: why.into(),
            wanted: String::new(),
            verdict: Verdict::Unavailable,
        }
    }
}
