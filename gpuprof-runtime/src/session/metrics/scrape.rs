//! One scrape: the profile of all windows so far as metrics, or for pprof.

use std::sync::OnceLock;
use std::time::Duration;

use parking_lot::Mutex;

use crate::collector::collector;
use crate::os::{self, fork};
use crate::session::{process_facts, serving};
use crate::span::overhead;
use gpuprof_report::metrics::{self, Families, Series, text};
use gpuprof_report::profile::Profile;

/// Held while metrics are made.
static SCRAPES: Mutex<Scrapes> = Mutex::new(Scrapes { series: None });

struct Scrapes {
    series: Option<Series>,
}

/// Host and rank, which are labels of every series. They are looked up once: another value would be
/// another series, and the environment may change while it is read.
static PLACE: OnceLock<(String, Option<u32>)> = OnceLock::new();

fn host_and_rank() -> &'static (String, Option<u32>) {
    PLACE.get_or_init(|| (os::host_name(), process_facts::rank()))
}

/// Looks up host and rank, before others serve metrics.
pub(super) fn prepare() {
    host_and_rank();
}

/// Waits at most `limit` for a scrape in progress, and lets no other begin.
pub(in crate::session) fn stop(limit: Duration) {
    serving::stop(&SCRAPES, limit);
}

/// The text of a scrape. `None`: a lock was not free within `limit`, or the process ends.
pub(in crate::session) fn page(limit: Duration) -> Option<Vec<u8>> {
    Some(to_text(&scrape(limit)?))
}

/// The same for pprof.
#[cfg(feature = "pprof")]
pub(super) fn pprof_file(limit: Duration) -> Option<Vec<u8>> {
    use gpuprof_report::pprof;

    let _scrapes = SCRAPES.try_lock_for(limit)?;
    if serving::has_ended() {
        return None;
    }
    let mut profile = profile(limit)?;
    profile.program = process_facts::program_and_script();
    let mut file = Vec::new();
    // Writing into memory cannot fail.
    let _ = pprof::write_cumulative(&profile, &mut file);
    Some(file)
}

pub(super) fn to_text(families: &Families) -> Vec<u8> {
    let mut text = Vec::new();
    // Writing into memory cannot fail.
    let _ = text::write(families, &mut text);
    text
}

/// What is measured now. `None`: a lock was not free within `limit`, or the process ends.
pub(in crate::session) fn scrape(limit: Duration) -> Option<Families> {
    if fork::is_child() {
        return Some(Families::default());
    }
    let mut scrapes = SCRAPES.try_lock_for(limit)?;
    if serving::has_ended() {
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
        let profile = profile(limit)?;
        if !has_measured(&profile) {
            return Some(Families::default());
        }
        let series = self.series.get_or_insert_default();
        Some(metrics::families(&profile, series))
    }
}

/// What was measured since the start of the process.
fn profile(limit: Duration) -> Option<Profile> {
    let mut profile = collector().profile_since_start(limit)?;
    let (host, rank) = host_and_rank();
    profile.host.clone_from(host);
    profile.rank = *rank;
    let diagnostics = &mut profile.diagnostics;
    diagnostics.overhead_ns += overhead::span_overhead_ns(diagnostics.calls);
    Some(profile)
}

fn has_measured(profile: &Profile) -> bool {
    profile.wall_ns > 0 || profile.functions.iter().any(|function| function.has_run())
}
