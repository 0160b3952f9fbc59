//! Sessions and the end of the process: what is measured when, and who is given the profile.

mod callback;
mod checkpoint;
pub(crate) mod control;
pub(crate) mod exit;
mod outputs;
mod process;
mod signals;
mod terminal;

pub use callback::on_profile_ready;
pub(crate) use control::start_from_environment;
pub use control::{Session, SessionBuilder, collect, reset, snapshot, step};
