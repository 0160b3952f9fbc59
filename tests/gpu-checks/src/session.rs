//! The sessions of checks.

use gpuprof::{Sampling, Session, SessionBuilder};

/// A session in which every call is timed.
pub(crate) fn every_call() -> SessionBuilder {
    Session::builder().sampling(Sampling::EveryCall)
}
