//! Metrics for Prometheus: the collector for a registry, and what `GPUPROF_METRICS` asks for.
//!
//! Each scrape makes the profile of all windows so far, as a snapshot does: nothing is counted
//! twice, and nothing runs between two scrapes.

mod connection;
mod files;
mod listener;
mod registry;
mod request;
mod server;

use std::time::Duration;

use parking_lot::Mutex;

use super::api::start_from_environment;
use super::current_profile;
use super::waits::LOCK_LIMIT;
use crate::collector::collector;
use crate::os::fork;
use crate::settings::{Mode, Settings};
use gpuprof_report::metrics::{self, Families, Series, text};
use gpuprof_report::profile::Profile;

pub(super) use self::files::{has_files, write_files};
pub(super) use self::listener::close_in_forked_child;
pub use self::registry::Collector;

/// Held while metrics are made.
static SCRAPES: Mutex<Scrapes> = Mutex::new(Scrapes {
    series: None,
    has_ended: false,
});

struct Scrapes {
    series: Option<Series>,
    /// The process ends: the driver may be gone soon.
    has_ended: bool,
}

/// Starts what the settings ask for.
pub(super) fn start(settings: &Settings) {
    if settings.mode != Mode::On {
        return;
    }
    files::set(&settings.metrics.files);
    if let Some(address) = &settings.metrics.listen {
        listener::start(address);
    }
}

/// Waits at most `limit` for a scrape in progress, and lets no other begin.
pub(super) fn stop(limit: Duration) {
    if let Some(mut scrapes) = SCRAPES.try_lock_for(limit) {
        scrapes.has_ended = true;
    }
}

/// The metrics of the process in Prometheus's text format 0.0.4: for programs that serve metrics
/// without a registry of the crate prometheus-client. Empty if nothing was measured yet.
///
/// ```
/// # use gpuprof_runtime as gpuprof;
/// # fn train() {}
/// train();
/// let text = gpuprof::metrics::prometheus_text();
/// ```
#[must_use]
pub fn prometheus_text() -> String {
    start_from_environment();
    let text = page(LOCK_LIMIT).unwrap_or_default();
    String::from_utf8(text).unwrap_or_default()
}

/// The text of a scrape. `None`: a lock was not free within `limit`, or the process ends.
fn page(limit: Duration) -> Option<Vec<u8>> {
    Some(to_text(&scrape(limit)?))
}

fn to_text(families: &Families) -> Vec<u8> {
    let mut text = Vec::new();
    // Writing into memory cannot fail.
    let _ = text::write(families, &mut text);
    text
}

/// What is measured now. `None`: a lock was not free within `limit`, or the process ends.
fn scrape(limit: Duration) -> Option<Families> {
    if fork::is_child() {
        return Some(Families::default());
    }
    let mut scrapes = SCRAPES.try_lock_for(limit)?;
    if scrapes.has_ended {
        return None;
    }
    scrapes.families(limit)
}

/// The same at the end of the process.
fn last_scrape(limit: Duration) -> Option<Families> {
    SCRAPES.try_lock_for(limit)?.families(limit)
}

impl Scrapes {
    fn families(&mut self, limit: Duration) -> Option<Families> {
        let mut profile = collector().profile_since_start(limit)?;
        if !has_measured(&profile) {
            return Some(Families::default());
        }
        current_profile::complete(&mut profile);
        let series = self.series.get_or_insert_default();
        Some(metrics::families(&profile, series))
    }
}

fn has_measured(profile: &Profile) -> bool {
    profile.wall_ns > 0 || profile.functions.iter().any(|function| function.has_run())
}
