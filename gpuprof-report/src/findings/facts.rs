//! What the rules look at.

use std::ops::Deref;

use super::host_time::{HostTime, host_times};
use super::profile_facts::ProfileFacts;
use crate::profile::Profile;

/// A profile, what is computed from it once, and the host's time in its functions.
pub(super) struct Facts<'a> {
    base: ProfileFacts<'a>,
    /// Of each function, and last of what is outside of them; empty if the idle time is unknown.
    pub(super) host_times: Vec<HostTime>,
}

impl<'a> Facts<'a> {
    pub(super) fn new(profile: &'a Profile) -> Self {
        let base = ProfileFacts::new(profile);
        let host_times = host_times(&base);
        Self { base, host_times }
    }
}

impl<'a> Deref for Facts<'a> {
    type Target = ProfileFacts<'a>;

    fn deref(&self) -> &ProfileFacts<'a> {
        &self.base
    }
}
