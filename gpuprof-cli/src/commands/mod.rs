//! One file for each command.

pub(crate) mod merge;
pub(crate) mod show;
