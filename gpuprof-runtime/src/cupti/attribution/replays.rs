//! One launch of a CUDA graph: the GPU activity of each captured call in it.
//!
//! Nothing marks the last record of a launch. So a replay is finished when its window ends or its
//! memory is needed; what arrives later is added to it as a further part.

use super::call_activity::{ActivityInterval, CallActivity};
use super::captured_calls::CaptureChain;
use super::row_totals::{CallTotals, ReplayKey};
use crate::stats::path_ids::ROOT;

/// A launch of which more records may arrive.
#[derive(Clone, Debug, Default)]
pub(crate) struct Replay {
    /// The captured calls of the present part, by id. The first, with the id 0, is the launch.
    calls: Vec<ReplayedCall>,
    /// The ids of the calls of finished parts, ascending.
    counted: Vec<u64>,
    /// Whether `counted` was dropped to save memory.
    is_count_dropped: bool,
    /// The end of the latest activity of finished parts.
    finished_until: u64,
    /// What the present part takes of the limit of all replays.
    size: usize,
}

#[derive(Clone, Debug)]
struct ReplayedCall {
    id: u64,
    path: u32,
    /// Captured calls from the outermost to this one; 0 for the launch.
    depth: u32,
    activity: CallActivity,
}

/// What a captured call counts of [`Replay::size`], beside its intervals.
const CALL_SIZE: usize = 8;

impl Replay {
    /// Adds an activity of the first call of `chain`. Returns whether all busy times are exact.
    pub(crate) fn add(&mut self, chain: &CaptureChain, interval: &ActivityInterval) -> bool {
        let mut is_exact = interval.start >= self.finished_until;
        is_exact &= self.add_to(0, ROOT, 0, interval);
        let depths = (1..=chain.len() as u32).rev();
        for (call, depth) in chain.iter().zip(depths) {
            is_exact &= self.add_to(call.id, call.path, depth, interval);
        }
        is_exact
    }

    fn add_to(&mut self, id: u64, path: u32, depth: u32, interval: &ActivityInterval) -> bool {
        let index = match self.calls.binary_search_by_key(&id, |call| call.id) {
            Ok(index) => index,
            Err(index) => {
                let activity = CallActivity::default();
                self.calls.insert(
                    index,
                    ReplayedCall {
                        id,
                        path,
                        depth,
                        activity,
                    },
                );
                self.size += CALL_SIZE;
                index
            }
        };
        let Some(ReplayedCall { activity, .. }) = self.calls.get_mut(index) else {
            return false;
        };
        let before = activity.busy.len();
        let is_exact = activity.add(interval);
        self.size = (self.size + activity.busy.len()).saturating_sub(before);
        is_exact && !self.is_count_dropped
    }

    /// What the present part takes of the limit of all replays.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// What finished parts take of the limit of all replays.
    pub(crate) fn counted(&self) -> usize {
        self.counted.len()
    }

    /// Drops the memory of finished parts. If more records arrive, their replays are not counted.
    pub(crate) fn drop_counted(&mut self) {
        self.is_count_dropped |= !self.counted.is_empty();
        self.counted = Vec::new();
    }

    /// The totals of the present part of a launch on `launch`, by captured call.
    pub(crate) fn totals(&self, launch: u32) -> impl Iterator<Item = (ReplayKey, CallTotals)> {
        self.calls.iter().map(move |call| {
            let key = ReplayKey {
                launch,
                captured: call.path,
                depth: call.depth,
            };
            let is_new = !self.is_count_dropped && self.counted.binary_search(&call.id).is_err();
            let CallActivity {
                busy,
                activities,
                launches,
                streams,
                devices,
            } = &call.activity;
            let totals = CallTotals {
                calls: u64::from(is_new),
                busy_ns: busy.length_ns(),
                activities: *activities,
                launches: *launches,
                streams: streams.count(),
                devices: *devices,
                ..CallTotals::default()
            };
            (key, totals)
        })
    }

    /// Finishes the present part, whose [totals](Self::totals) were added.
    pub(crate) fn finish(&mut self) {
        let calls = std::mem::take(&mut self.calls);
        self.size = 0;
        for call in &calls {
            let end = call.activity.busy.end();
            self.finished_until = self.finished_until.max(end);
        }
        if !self.is_count_dropped {
            self.counted.extend(calls.iter().map(|call| call.id));
            self.counted.sort_unstable();
            self.counted.dedup();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ActivityInterval, CaptureChain, Replay, ReplayKey};
    use crate::stats::profiled_call::CallPosition;

    fn interval(start: u64, end: u64) -> ActivityInterval {
        ActivityInterval {
            start,
            end,
            is_kernel: true,
            stream: (1, 7),
            device: 0,
        }
    }

    fn chain(calls: &[(u64, u32)]) -> CaptureChain {
        let calls = calls.iter();
        calls.map(|&(id, path)| CallPosition { id, path }).collect()
    }

    fn totals(replay: &Replay) -> Vec<(u32, u32, u64, u64)> {
        let all = replay.totals(9);
        all.map(|(key, totals)| {
            let ReplayKey {
                captured, depth, ..
            } = key;
            (captured, depth, totals.calls, totals.busy_ns)
        })
        .collect()
    }

    #[test]
    fn busy_time_is_the_union_over_a_captured_call_and_its_nested_calls() {
        let mut replay = Replay::default();
        let inner = chain(&[(12, 2), (11, 1)]);
        assert!(replay.add(&inner, &interval(0, 10)));
        assert!(replay.add(&chain(&[(13, 2), (11, 1)]), &interval(5, 20)));
        assert!(replay.add(&chain(&[(11, 1)]), &interval(18, 30)));
        assert!(replay.add(&chain(&[(20, 5)]), &interval(40, 50)));
        let expected = [
            (0, 0, 1, 40),
            (1, 1, 1, 30),
            (2, 2, 1, 10),
            (2, 2, 1, 15),
            (5, 1, 1, 10),
        ];
        assert_eq!(totals(&replay), expected);
    }

    #[test]
    fn a_later_part_counts_no_call_again_and_an_overlap_is_reported() {
        let mut replay = Replay::default();
        let (first, second) = (chain(&[(11, 1)]), chain(&[(12, 2)]));
        assert!(replay.add(&first, &interval(0, 10)));
        replay.finish();
        assert_eq!((replay.size(), replay.counted()), (0, 2));
        assert!(replay.add(&first, &interval(10, 15)));
        assert!(replay.add(&second, &interval(20, 25)));
        let expected = [(0, 0, 0, 10), (1, 1, 0, 5), (2, 1, 1, 5)];
        assert_eq!(totals(&replay), expected);
        assert!(!replay.add(&second, &interval(9, 21)));
        replay.finish();
        replay.drop_counted();
        assert!(!replay.add(&first, &interval(30, 31)));
        assert_eq!(totals(&replay), [(0, 0, 0, 1), (1, 1, 0, 1)]);
    }
}
