//! The nodes of the call tree that a thread used last.

use std::cell::Cell;

use crate::stats::path_counters::PathCounters;
use crate::stats::path_ids::PathKey;

/// Entries: one for each slot that a path's key hashes to, the key used last. A program spends its
/// time in far fewer.
const CACHE_SLOTS: usize = 64;

/// Nodes by the key of their path.
#[derive(Debug)]
pub(super) struct NodeCache([Cell<CachedNode>; CACHE_SLOTS]);

#[derive(Clone, Copy, Debug)]
struct CachedNode {
    key: PathKey,
    node: Option<&'static PathCounters>,
}

impl CachedNode {
    const EMPTY: Self = Self {
        key: PathKey::NO_PATH,
        node: None,
    };
}

impl NodeCache {
    pub(super) const fn new() -> Self {
        Self([const { Cell::new(CachedNode::EMPTY) }; CACHE_SLOTS])
    }

    #[inline]
    pub(super) fn get(&self, key: PathKey) -> Option<&'static PathCounters> {
        let cached = self.slot(key)?.get();
        cached.node.filter(|_| cached.key == key)
    }

    pub(super) fn insert(&self, key: PathKey, node: &'static PathCounters) {
        let node = Some(node);
        if let Some(slot) = self.slot(key) {
            slot.set(CachedNode { key, node });
        }
    }

    pub(super) fn clear(&self) {
        self.0.iter().for_each(|slot| slot.set(CachedNode::EMPTY));
    }

    #[inline]
    fn slot(&self, key: PathKey) -> Option<&Cell<CachedNode>> {
        self.0.get(key.hash() % CACHE_SLOTS)
    }
}
