//! Session lifecycle and process exit: measuring windows, and where the profile is delivered.

mod activation;
mod answer_cost;
mod api;
mod checkpoint;
mod cupti_start;
mod current_profile;
mod current_trace;
pub(crate) mod elf_note;
pub(crate) mod exit;
mod live;
mod measured_time;
mod measuring_session;
#[cfg(feature = "metrics")]
mod metrics;
#[cfg(feature = "metrics")]
pub(crate) mod metrics_api;
mod on_diagnostic;
mod open_windows;
mod process_facts;
mod serving;
mod signals;
mod table_options;
mod time_line;
mod waits;
mod write_outputs;

pub use activation::{set_default_stream, with_stream};
#[cfg(feature = "inject")]
pub(crate) use api::start_once;
pub use api::{collect, reset, snapshot, step};
pub use measuring_session::{Session, SessionBuilder};
pub use on_diagnostic::on_diagnostic;
pub use time_line::{collect_trace, set_recording};
