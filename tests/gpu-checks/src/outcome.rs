//! What a run came to, as plain data: the JSON file is this, the table is drawn from it.
//!
//! Must never import: anything that runs or measures.

use serde::{Deserialize, Serialize};

use crate::check::{Row, Verdict};

/// A whole run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Outcome {
    /// Version of gpuprof.
    pub(crate) gpuprof: String,
    /// When it began, RFC 3339 in UTC.
    pub(crate) date: String,
    /// The command line.
    pub(crate) command: String,
    /// Whether counts were kept small: nothing of it is then a measurement.
    pub(crate) short: bool,
    pub(crate) machine: Machine,
    pub(crate) parts: Vec<Part>,
}

/// Where it ran.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Machine {
    /// Name of device 0, as the driver gives it.
    pub(crate) device: String,
    /// How many devices there are.
    pub(crate) devices: u32,
    /// Whether they are simulated: then no time is a measurement.
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

/// One check, or the examples, with everything it found.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Part {
    /// Name of the check.
    pub(crate) name: String,
    /// What it holds, as a sentence.
    pub(crate) promise: String,
    /// How long it took, in seconds.
    pub(crate) seconds: f64,
    pub(crate) rows: Vec<Row>,
}

impl Outcome {
    /// How many rows ended so.
    pub(crate) fn count(&self, verdict: Verdict) -> usize {
        let rows = self.parts.iter().flat_map(|part| &part.rows);
        rows.filter(|row| row.verdict == verdict).count()
    }
}

impl Row {
    /// What was found is what is wanted, or is not.
    pub(crate) fn held(
        what: impl Into<String>,
        measured: impl Into<String>,
        wanted: impl Into<String>,
        good: bool,
    ) -> Row {
        Row {
            what: what.into(),
            measured: measured.into(),
            wanted: wanted.into(),
            verdict: if good { Verdict::Good } else { Verdict::Bad },
        }
    }

    /// A figure or an answer of which nothing was promised.
    pub(crate) fn told(what: impl Into<String>, measured: impl Into<String>) -> Row {
        Row {
            what: what.into(),
            measured: measured.into(),
            wanted: String::new(),
            verdict: Verdict::Told,
        }
    }

    /// A question that cannot be asked here, and why.
    pub(crate) fn not_here(what: impl Into<String>, why: impl Into<String>) -> Row {
        Row {
            what: what.into(),
            measured: why.into(),
            wanted: String::new(),
            verdict: Verdict::NotHere,
        }
    }
}
