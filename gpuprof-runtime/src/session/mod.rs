//! Session lifecycle and process exit: measuring windows, and where the profile is delivered.

mod activation;
mod api;
mod callback;
mod checkpoint;
mod exit;
mod measuring_session;
mod outputs;
mod process;
mod profile;
mod signals;
mod terminal;
mod windows;

pub use activation::with_stream;
pub use api::{collect, reset, snapshot, step};
pub use callback::on_profile_ready;
pub use measuring_session::{Session, SessionBuilder};
