//! Session lifecycle and process exit: measuring windows, and where the profile is delivered.

mod activation;
mod callback;
mod checkpoint;
mod control;
mod exit;
mod measuring_session;
mod outputs;
mod process;
mod profile;
mod signals;
mod terminal;
mod windows;

pub use activation::with_stream;
pub use callback::on_profile_ready;
pub use control::{collect, reset, snapshot, step};
pub use measuring_session::{Session, SessionBuilder};
