//! A promise and whether it held, as plain data.

use serde::Serialize;

/// One promise and what became of it.
#[derive(Debug, Serialize)]
pub(crate) struct Promise {
    pub(crate) what: String,
    pub(crate) measured: String,
    pub(crate) wanted: String,
    pub(crate) verdict: Verdict,
    /// Whether breaking it makes the program fail.
    pub(crate) strict: bool,
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    /// As wanted.
    Good,
    /// Not as wanted.
    Bad,
    /// Nothing can be held against this figure: a short run, the simulated device.
    Told,
    /// It was not measured; the remarks say why.
    Missing,
}

impl Verdict {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Bad => "BAD",
            Self::Told => "told",
            Self::Missing => "missing",
        }
    }
}
