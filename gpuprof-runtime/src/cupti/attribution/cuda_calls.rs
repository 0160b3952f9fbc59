//! The CUDA calls of which records may still arrive, by correlation id.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::correlated_call::CorrelatedCall;
use super::limits::{MAX_AWAITED_CUDA_CALLS, MAX_RECENT_CUDA_CALLS, is_long_before};

#[derive(Debug, Default)]
pub(crate) struct CudaCalls {
    by_correlation: FxHashMap<u32, CorrelatedCall>,
    /// The latest calls, oldest first: a call may cause further activities after its first.
    recent: VecDeque<u32>,
    /// Older calls whose first record is awaited, oldest first.
    awaited: VecDeque<u32>,
    /// The newest correlation id; `None` before the first call. A call that others overtook while
    /// it blocked comes with an older one.
    latest: Option<u32>,
}

impl CudaCalls {
    /// Adds a call. Returns the one that it replaces: a CUDA call inside another may have the same
    /// correlation id, and returns first.
    pub(crate) fn insert(
        &mut self,
        correlation: u32,
        call: CorrelatedCall,
    ) -> Option<CorrelatedCall> {
        self.latest = Some(self.newest(correlation));
        let replaced = self.by_correlation.insert(correlation, call);
        if replaced.is_none() {
            self.recent.push_back(correlation);
        }
        replaced
    }

    pub(crate) fn get(&self, correlation: u32) -> Option<&CorrelatedCall> {
        self.by_correlation.get(&correlation)
    }

    pub(crate) fn get_mut(&mut self, correlation: u32) -> Option<&mut CorrelatedCall> {
        self.by_correlation.get_mut(&correlation)
    }

    pub(crate) fn remove(&mut self, correlation: u32) -> Option<CorrelatedCall> {
        self.by_correlation.remove(&correlation)
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &CorrelatedCall> {
        self.by_correlation.values()
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut CorrelatedCall> {
        self.by_correlation.values_mut()
    }

    /// The newest correlation id of all calls and of one that returns with `correlation`.
    pub(crate) fn newest(&self, correlation: u32) -> u32 {
        let is_older = |latest: &u32| correlation.wrapping_sub(*latest) >= 1 << 31;
        self.latest.filter(is_older).unwrap_or(correlation)
    }

    /// The correlation ids of all calls, oldest first.
    pub(crate) fn correlations(&self) -> Vec<u32> {
        self.awaited.iter().chain(&self.recent).copied().collect()
    }

    /// The call that is to be removed, if there are too many, or if a call of the same id may come.
    pub(crate) fn next_to_forget(&mut self) -> Option<u32> {
        let latest = self.latest?;
        for queue in [&mut self.awaited, &mut self.recent] {
            if queue
                .front()
                .is_some_and(|oldest| is_long_before(*oldest, latest))
            {
                return queue.pop_front();
            }
        }
        while self.recent.len() > MAX_RECENT_CUDA_CALLS
            && let Some(oldest) = self.recent.pop_front()
        {
            if !self.get(oldest).is_some_and(CorrelatedCall::is_awaited) {
                return Some(oldest);
            }
            self.awaited.push_back(oldest);
        }
        if self.awaited.len() > MAX_AWAITED_CUDA_CALLS {
            self.awaited.pop_front()
        } else {
            None
        }
    }
}
