//! Metrics for Prometheus: one scrape, and what `GPUPROF_METRICS` asks for.
//!
//! Each scrape makes the profile of all windows so far, as a snapshot does: nothing is counted
//! twice, and nothing runs between two scrapes.

mod answers;
mod connection;
mod descriptors;
mod files;
mod listener;
mod request;
mod scrape;
mod server;
mod start;

pub(super) use self::files::{has_files, rewrite_files, write_files};
pub(super) use self::scrape::{page, scrape, stop};
pub(super) use self::start::start;
