//! A check: one promise and how it is verified.

use std::time::Duration;

use promises::{Observation, Observed};

/// A promise that is checked in a process of its own.
pub(crate) struct Check {
    /// Name on the command line: `capture`, `span-cost`.
    pub(crate) name: &'static str,
    /// The promise in one sentence.
    pub(crate) promise: &'static str,
    /// Time limit: the process is then killed and the check fails.
    pub(crate) limit: Duration,
    /// Runs the check. An error means that it could not be run, and is a failure.
    pub(crate) run: fn(&RunMode) -> Result<Vec<Row>, String>,
}

/// How a check runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RunMode {
    /// True on the simulated device, whose times are not measurements.
    pub(crate) simulated: bool,
    /// True for the smallest counts that show that the check works.
    pub(crate) short: bool,
}

/// One row of the result table.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Row {
    /// What was examined.
    pub(crate) what: String,
    /// What was measured, with its unit.
    pub(crate) measured: String,
    /// The accepted values; empty if nothing is promised.
    pub(crate) wanted: String,
    pub(crate) verdict: Verdict,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    /// The measured value is accepted.
    Pass,
    /// The measured value is not accepted.
    Fail,
    /// Nothing is promised: a figure, or how the driver behaves.
    Info,
    /// Cannot be measured on this machine; `measured` gives the reason.
    Unavailable,
}

impl From<Observation> for Row {
    fn from(observed: Observation) -> Row {
        let Observation {
            what,
            measured,
            wanted,
            is_kept,
        } = observed;
        Row::judged(what, measured, wanted, is_kept)
    }
}

/// The rows of these promises.
///
/// # Errors
/// The first promise that could not be tested.
pub(crate) fn rows<const N: usize>(observed: [Observed; N]) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for observed in observed {
        rows.extend(observed?.into_iter().map(Row::from));
    }
    Ok(rows)
}
