//! Activities whose CUDA call is unknown: it has not returned, or gpuprof does not record it.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::limits::{MAX_ORPHANS, is_long_before};
use crate::cupti::collect::record::ActivityRecord;

type ByCorrelation = FxHashMap<u32, SmallVec<[ActivityRecord; 1]>>;

#[derive(Debug, Default)]
pub(crate) struct Orphans {
    older: ByCorrelation,
    newer: ByCorrelation,
    newer_count: usize,
    /// The correlation id of a call shortly after [`take_older`](Self::take_older).
    newer_since: Option<u32>,
}

impl Orphans {
    /// Adds an activity. Returns those that are forgotten for lack of memory.
    pub(crate) fn add(
        &mut self,
        activity: ActivityRecord,
    ) -> impl Iterator<Item = ActivityRecord> + use<> {
        let correlation = activity.span().correlation;
        self.newer.entry(correlation).or_default().push(activity);
        self.newer_count += 1;
        let is_full = self.newer_count > MAX_ORPHANS / 2;
        is_full.then(|| self.take_older()).into_iter().flatten()
    }

    /// All of them.
    pub(crate) fn into_activities(self) -> impl Iterator<Item = ActivityRecord> {
        self.older
            .into_values()
            .chain(self.newer.into_values())
            .flatten()
    }

    /// Removes the activities of a CUDA call.
    pub(crate) fn take(
        &mut self,
        correlation: u32,
    ) -> impl Iterator<Item = ActivityRecord> + use<> {
        let older = self.older.remove(&correlation).unwrap_or_default();
        let newer = self.newer.remove(&correlation).unwrap_or_default();
        self.newer_count = self.newer_count.saturating_sub(newer.len());
        older.into_iter().chain(newer)
    }

    /// Removes the activities whose correlation id a later call than `latest` may have too.
    pub(crate) fn take_outdated(
        &mut self,
        latest: u32,
    ) -> impl Iterator<Item = ActivityRecord> + use<> {
        let since = *self.newer_since.get_or_insert(latest);
        is_long_before(since, latest)
            .then(|| self.take_older())
            .into_iter()
            .flatten()
    }

    /// Removes the activities that were there at the previous call.
    fn take_older(&mut self) -> impl Iterator<Item = ActivityRecord> + use<> {
        self.newer_count = 0;
        self.newer_since = None;
        let newer = std::mem::take(&mut self.newer);
        let older = std::mem::replace(&mut self.older, newer);
        older.into_values().flatten()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &ActivityRecord> {
        self.older.values().chain(self.newer.values()).flatten()
    }
}
