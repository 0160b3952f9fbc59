//! The profiled calls in which graph nodes were created: what the function that captured a node was
//! called by.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::limits::MAX_CAPTURED_CALLS;
use crate::cupti::collect::record::CapturedCall;
use crate::stats::profiled_call::CallPosition;

/// Limit of enclosing calls that are followed: deeper recursions end here.
const MAX_DEPTH: usize = 256;

#[derive(Debug, Default)]
pub(crate) struct CapturedCalls {
    calls: FxHashMap<u64, KnownCall>,
    by_age: VecDeque<u64>,
    /// Calls forgotten since the last [`take_forgotten`](Self::take_forgotten).
    forgotten: u64,
}

#[derive(Clone, Copy, Debug)]
struct KnownCall {
    call: CapturedCall,
    was_launched: bool,
}

/// A call that captured a node, then the calls around it in the capture.
pub(crate) type CaptureChain = SmallVec<[CallPosition; 8]>;

impl CapturedCalls {
    pub(crate) fn add(&mut self, call: CapturedCall) {
        let known = KnownCall {
            call,
            was_launched: false,
        };
        if self.calls.insert(call.position.id, known).is_none() {
            self.by_age.push_back(call.position.id);
        }
        if self.calls.len() <= MAX_CAPTURED_CALLS {
            return;
        }
        while let Some(oldest) = self.by_age.pop_front() {
            match self.calls.get_mut(&oldest) {
                Some(known) if known.was_launched => {
                    known.was_launched = false;
                    self.by_age.push_back(oldest);
                }
                _ => {
                    self.calls.remove(&oldest);
                    self.forgotten += 1;
                    return;
                }
            }
        }
    }

    /// The call that captured a node and its enclosing calls up to the outermost whose stream was
    /// being captured: those around the capture do not run again when it is replayed.
    pub(crate) fn chain(&mut self, owner: CallPosition) -> CaptureChain {
        let mut chain = CaptureChain::from_slice(&[owner]);
        let mut captured = 1;
        let mut parent = self.parent_of(owner.id);
        while let Some(id) = parent
            && chain.len() < MAX_DEPTH
            && let Some(known) = self.calls.get_mut(&id)
        {
            known.was_launched = true;
            chain.push(known.call.position);
            if known.call.is_captured {
                captured = chain.len();
            }
            parent = Some(known.call.parent);
        }
        chain.truncate(captured);
        chain
    }

    /// Calls that were forgotten since the last call.
    pub(crate) fn take_forgotten(&mut self) -> u64 {
        std::mem::take(&mut self.forgotten)
    }

    fn parent_of(&mut self, id: u64) -> Option<u64> {
        let known = self.calls.get_mut(&id)?;
        known.was_launched = true;
        Some(known.call.parent)
    }
}

#[cfg(test)]
mod tests {
    use super::{CallPosition, CapturedCall, CapturedCalls, MAX_CAPTURED_CALLS};

    fn call(id: u64, parent: u64, is_captured: bool) -> CapturedCall {
        CapturedCall {
            position: position(id),
            parent,
            is_captured,
        }
    }

    fn position(id: u64) -> CallPosition {
        CallPosition { id, path: 0 }
    }

    fn chain(calls: &mut CapturedCalls, id: u64) -> Vec<u64> {
        let chain = calls.chain(position(id));
        chain.iter().map(|call| call.id).collect()
    }

    #[test]
    fn a_chain_ends_at_the_outermost_captured_call() {
        let mut calls = CapturedCalls::default();
        // 1 begins and ends the capture; 3 has no stream.
        for (id, parent, is_captured) in [(4, 3, true), (3, 2, false), (2, 1, true), (1, 0, false)]
        {
            calls.add(call(id, parent, is_captured));
        }
        assert_eq!(chain(&mut calls, 4), [4, 3, 2]);
        assert_eq!(chain(&mut calls, 3), [3, 2]);
        assert_eq!(chain(&mut calls, 1), [1]);
        // A call that has not ended.
        assert_eq!(chain(&mut calls, 9), [9]);
    }

    #[test]
    fn calls_that_are_not_launched_are_forgotten_first() {
        let mut calls = CapturedCalls::default();
        calls.add(call(1, 0, true));
        calls.add(call(2, 1, true));
        calls.add(call(3, 1, true));
        assert_eq!(chain(&mut calls, 2), [2, 1]);
        for id in 10..10 + MAX_CAPTURED_CALLS as u64 - 2 {
            calls.add(call(id, 0, true));
        }
        assert_eq!((calls.take_forgotten(), calls.take_forgotten()), (1, 0));
        assert_eq!(calls.calls.len(), MAX_CAPTURED_CALLS);
        assert!(!calls.calls.contains_key(&3));
        assert_eq!(chain(&mut calls, 2), [2, 1]);
    }
}
