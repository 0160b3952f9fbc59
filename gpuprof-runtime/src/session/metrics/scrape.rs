//! One scrape: the profile of all windows so far as metrics.

use std::time::Duration;

use parking_lot::Mutex;

use crate::collector::collector;
use crate::os::fork;
use crate::session::current_profile;
use gpuprof_report::metrics::{self, Families, Series, text};
use gpuprof_report::profile::Profile;

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

/// Waits at most `limit` for a scrape in progress, and lets no other begin.
pub(in crate::session) fn stop(limit: Duration) {
    if let Some(mut scrapes) = SCRAPES.try_lock_for(limit) {
        scrapes.has_ended = true;
    }
}

/// The text of a scrape. `None`: a lock was not free within `limit`, or the process ends.
pub(super) fn page(limit: Duration) -> Option<Vec<u8>> {
    Some(to_text(&scrape(limit)?))
}

pub(super) fn to_text(families: &Families) -> Vec<u8> {
    let mut text = Vec::new();
    // Writing into memory cannot fail.
    let _ = text::write(families, &mut text);
    text
}

/// What is measured now. `None`: a lock was not free within `limit`, or the process ends.
pub(super) fn scrape(limit: Duration) -> Option<Families> {
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
pub(super) fn last_scrape(limit: Duration) -> Option<Families> {
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
