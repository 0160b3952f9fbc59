//! A line that gpuprof says about itself, as a program's callback receives it.

use std::fmt;

/// A line that gpuprof says about itself; see `gpuprof::on_diagnostic`.
///
/// `Display` shows the text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// One line, without the program's or gpuprof's name.
    pub text: String,
}

impl Diagnostic {
    /// A line, for a test of a callback.
    pub fn new(severity: Severity, text: impl Into<String>) -> Self {
        Self {
            severity,
            text: text.into(),
        }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// How bad a [`Diagnostic`] is. The worst is the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Severity {
    /// What a profile lacks, and why: one of its `diagnostics.notes`.
    Note,
    /// A setting is wrong, has no effect, or has one that may surprise.
    Warning,
    /// A report or a file was not written, or calls are not timed.
    Error,
}
