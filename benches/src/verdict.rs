//! A promise and its verdict, as plain data.

use serde::Serialize;

#[derive(Debug, Serialize)]
pub(crate) struct Promise {
    pub(crate) what: String,
    pub(crate) measured: String,
    pub(crate) wanted: String,
    pub(crate) verdict: Verdict,
    /// True if breaking it fails the program.
    pub(crate) strict: bool,
}

/// The verdict on a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    /// The measured value is accepted.
    Pass,
    /// The measured value is not accepted.
    Fail,
    /// The figure is for information: a short run, the simulated device.
    Info,
    /// It was not measured; the remarks give the reason.
    Missing,
}

impl Verdict {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "FAIL",
            Self::Info => "info",
            Self::Missing => "missing",
        }
    }
}
