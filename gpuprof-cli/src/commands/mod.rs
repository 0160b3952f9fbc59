//! One file for each command.

pub(crate) mod describe;
pub(crate) mod doctor;
pub(crate) mod run;
pub(crate) mod show;
