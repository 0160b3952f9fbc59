//! What the rules look at.

use std::ops::Deref;

use super::host_time::{HostTime, host_times};
use super::kernel_faults::{KernelFault, kernel_faults};
use super::profile_index::ProfileIndex;
use crate::profile::Profile;

/// A profile, what is computed from it once, and the host's time in its functions.
pub(super) struct ProfileFacts<'a> {
    index: ProfileIndex<'a>,
    /// Of each function, and last of what is outside of them; empty if the idle time is unknown.
    pub(super) host_times: Vec<HostTime>,
    /// Of each kernel.
    kernel_faults: Vec<Option<KernelFault>>,
}

impl<'a> ProfileFacts<'a> {
    pub(super) fn new(profile: &'a Profile) -> Self {
        let index = ProfileIndex::new(profile);
        let (host_times, kernel_faults) = (host_times(&index), kernel_faults(&index));
        Self {
            index,
            host_times,
            kernel_faults,
        }
    }

    /// What is wrong with a kernel.
    pub(super) fn fault(&self, kernel: usize) -> Option<&KernelFault> {
        self.kernel_faults.get(kernel)?.as_ref()
    }
}

impl<'a> Deref for ProfileFacts<'a> {
    type Target = ProfileIndex<'a>;

    fn deref(&self) -> &ProfileIndex<'a> {
        &self.index
    }
}
