//! Why a benchmark has no result.

use std::fmt;

use cudarc::driver::DriverError;

/// Why a benchmark has no result.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum BenchError {
    /// No stream was given; see [`Bench::stream`](crate::Bench::stream).
    NoStream,
    /// A call of CUDA failed, for this purpose.
    Cuda(&'static str, DriverError),
    /// The benchmarked closure returned this error.
    Call(String),
    /// Events of the sample could not be read.
    Event(String),
    /// What a comparison requires is not shown, or its outputs differ; this says what.
    Unmet(String),
    /// A setting that cannot be used.
    Setting(String),
}

impl fmt::Display for BenchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoStream => f.write_str("no stream is set: call `.stream(&stream)` before `run`"),
            Self::Cuda(what, error) => write!(f, "cannot {what}: {error}"),
            Self::Call(error) => write!(f, "the benchmarked code failed: {error}"),
            Self::Event(error) => write!(f, "the time of a sample cannot be read: {error}"),
            Self::Unmet(error) | Self::Setting(error) => f.write_str(error),
        }
    }
}

impl std::error::Error for BenchError {}

/// Says what a call of CUDA was for.
pub(crate) trait WithPurpose<T> {
    fn to(self, what: &'static str) -> Result<T, BenchError>;
}

impl<T> WithPurpose<T> for Result<T, DriverError> {
    fn to(self, what: &'static str) -> Result<T, BenchError> {
        self.map_err(|error| BenchError::Cuda(what, error))
    }
}
