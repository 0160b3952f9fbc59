//! What the rules return: findings of which some are about the same time.

use crate::profile::Finding;

/// A finding, and which time it is about.
#[derive(Clone, Debug)]
pub(super) struct FindingCandidate {
    pub(super) about: About,
    /// Index in `functions`; `None` for what is outside of every function.
    pub(super) function: Option<usize>,
    pub(super) finding: Finding,
}

/// The time that a finding is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum About {
    /// GPU idle time of the function, for which the candidate names the cause.
    Idle,
    /// GPU idle time of the whole run.
    WholeIdle,
    /// The first call of the function.
    FirstCall,
    /// Copies of the function between host and device that are slow by themselves.
    SlowCopies,
    /// Other such copies of the function.
    Copies,
    /// Such copies of the function and its nested functions, which kernels could hide.
    NestedCopies,
    /// Kernels, by index in `kernels` of the profile.
    Kernels(Vec<usize>),
    /// All kernels of the function together.
    KernelsOfFunction,
    /// Time of the function's slower calls.
    SlowCalls,
    /// Time of its own.
    Separate,
}

impl About {
    /// Whether it is about a kernel that `other` is about.
    pub(super) fn has_kernels_of(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Kernels(own), Self::Kernels(others)) => {
                others.iter().any(|kernel| own.contains(kernel))
            }
            _ => false,
        }
    }
}
