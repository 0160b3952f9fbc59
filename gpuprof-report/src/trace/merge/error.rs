//! Why traces could not be merged.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::sanitize;

const MAX_PATH_CHARS: usize = 300;
const MAX_REASON_CHARS: usize = 200;

/// Why traces could not be merged. Its text says what to do.
#[derive(Debug)]
#[non_exhaustive]
pub enum MergeError {
    /// There is no trace to merge.
    NoInput,
    /// A trace could not be opened or read.
    Read(PathBuf, io::Error),
    /// A file is no whole trace of this format; says why.
    NotATrace(PathBuf, String),
    /// A `.pftrace` holds what another program wrote, which would be lost.
    Foreign(PathBuf),
    /// The merged trace could not be written.
    Write(io::Error),
}

impl MergeError {
    pub(super) fn not_a_trace(path: &Path, reason: impl Into<String>) -> Self {
        Self::NotATrace(path.to_owned(), reason.into())
    }
}

impl fmt::Display for MergeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |path: &Path| sanitize::quoted(&path.to_string_lossy(), MAX_PATH_CHARS);
        match self {
            Self::NoInput => write!(f, "there is no trace to merge: name at least one file"),
            Self::Read(path, error) => write!(f, "could not read {}: {error}", quoted(path)),
            Self::NotATrace(path, reason) => write!(
                f,
                "{} is not a trace that can be merged: {}",
                quoted(path),
                sanitize::short(reason, MAX_REASON_CHARS)
            ),
            Self::Foreign(path) => write!(
                f,
                "{} holds packets of another program than gpuprof; \
                 merge traces in Chrome JSON instead",
                quoted(path)
            ),
            Self::Write(error) => write!(f, "could not write the merged trace: {error}"),
        }
    }
}

impl std::error::Error for MergeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Read(_, error) | Self::Write(error) => Some(error),
            _ => None,
        }
    }
}
