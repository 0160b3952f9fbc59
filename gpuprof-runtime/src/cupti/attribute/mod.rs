//! From records to a profile.

pub(crate) mod captures;
pub(crate) mod correlate;
pub(crate) mod correlation;
pub(crate) mod exposed_copies;
pub(crate) mod interval_union;
pub(crate) mod open_calls;
pub(crate) mod recorded;
pub(crate) mod state;
pub(crate) mod tables;
pub(crate) mod to_profile;
pub(crate) mod totals;
pub(crate) mod windows;
