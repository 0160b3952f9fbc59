//! What a check is: one promise, held against what is measured here.

use std::time::Duration;

/// One promise, checked in a process of its own.
pub(crate) struct Check {
    /// What it is called on the command line: `capture`, `span-cost`.
    pub(crate) name: &'static str,
    /// The promise, as one sentence.
    pub(crate) promise: &'static str,
    /// After this the process is killed and the check has failed.
    pub(crate) limit: Duration,
    /// Does it. An error is a check that could not be made, and fails.
    pub(crate) run: fn(&World) -> Result<Vec<Row>, String>,
}

/// Where a check runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct World {
    /// Whether the device is the simulated one: what is measured there is no performance.
    pub(crate) simulated: bool,
    /// Whether to do as little as shows that the check works.
    pub(crate) short: bool,
}

/// One line of the outcome.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Row {
    /// What was looked at.
    pub(crate) what: String,
    /// What was found, with its unit.
    pub(crate) measured: String,
    /// What is wanted; empty where the row only tells.
    pub(crate) wanted: String,
    pub(crate) verdict: Verdict,
}

/// How a row ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    /// As wanted.
    Good,
    /// Not as wanted.
    Bad,
    /// Nothing was promised: a figure, or how the driver behaves.
    Told,
    /// Cannot be answered here; `measured` says why.
    NotHere,
}
