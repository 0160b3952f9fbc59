//! Samples that wait at the resolver for the GPU, one queue per thread and stream.
//!
//! All queues together hold no more samples than their contexts have event pairs, but each may hold
//! any share of them for a while. If each had storage of its own, it would keep that of its fullest
//! moment, times the number of threads. Therefore all samples are in one store, and a queue holds
//! indices.

use std::collections::VecDeque;

use crate::gpu::driver::table::Driver;
use crate::gpu::resolver::channel::Sample;
use crate::gpu::resolver::complete::has_passed;

/// Where they lie, until they are taken: as many places as were ever needed at a time.
pub(in crate::gpu) struct Store<T> {
    places: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Store<T> {
    pub(in crate::gpu) fn new() -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
        }
    }

    fn put(&mut self, one: T) -> u32 {
        if let Some(at) = self.free.pop()
            && let Some(place) = self.places.get_mut(at as usize)
        {
            *place = Some(one);
            return at;
        }
        self.places.push(Some(one));
        // Each sample has a pair of events, and there are far fewer of these than numbers.
        self.places.len() as u32 - 1
    }

    fn get(&self, at: u32) -> Option<&T> {
        self.places.get(at as usize)?.as_ref()
    }

    fn take(&mut self, at: u32) -> Option<T> {
        let one = self.places.get_mut(at as usize)?.take();
        self.free.extend(one.is_some().then_some(at));
        one
    }
}

/// Those of one thread on one stream: they complete in order.
#[derive(Default)]
pub(in crate::gpu) struct Backlog {
    /// Their places.
    waiting: VecDeque<u32>,
    /// How many of them were there at the look before: most likely completed since.
    older: usize,
}

impl Backlog {
    pub(in crate::gpu) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(in crate::gpu) fn push<T>(&mut self, store: &mut Store<T>, one: T) {
        self.waiting.push_back(store.put(one));
    }

    /// The oldest.
    pub(in crate::gpu) fn first<'a, T>(&self, store: &'a Store<T>) -> Option<&'a T> {
        store.get(*self.waiting.front()?)
    }

    /// Takes the oldest out.
    pub(in crate::gpu) fn pop<T>(&mut self, store: &mut Store<T>) -> Option<T> {
        store.take(self.waiting.pop_front()?)
    }

    /// The end of a look: what is left is older at the next one.
    pub(in crate::gpu) fn looked_at(&mut self) {
        self.older = self.waiting.len();
    }

    /// How many samples at the front are completed. Newest first: one query tells of all before it.
    /// Each query holds up whoever records in the context, so there are as few as can be: what was
    /// new at the look before tells of nearly all.
    pub(in crate::gpu) fn completed(&self, store: &Store<Sample>, driver: &Driver) -> usize {
        let passed = |at: &u32| {
            let recorded = store.get(*at).map(|sample| sample.pairs.as_slice());
            // What fails is resolved, as a failure.
            recorded
                .and_then(|recorded| recorded.first())
                .is_none_or(|one| has_passed(driver, one).unwrap_or(true))
        };
        let last_of = |count: usize| self.waiting.get(count.wrapping_sub(1));
        let all = self.waiting.len();
        if last_of(all).is_some_and(passed) {
            return all;
        }
        let older = self.older.min(all);
        if older < all && last_of(older).is_some_and(passed) {
            return older;
        }
        match self.waiting.front() {
            Some(oldest) if all > 1 && passed(oldest) => self.waiting.partition_point(passed),
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backlogs_that_are_full_in_turn_share_one_room() {
        let mut store = Store::new();
        let mut backlogs: [Backlog; 64] = std::array::from_fn(|_| Backlog::default());
        for backlog in &mut backlogs {
            (0..1_000).for_each(|one| backlog.push(&mut store, one));
            assert_eq!(backlog.first(&store), Some(&0));
            let all = std::iter::from_fn(|| backlog.pop(&mut store));
            assert!(all.eq(0..1_000), "in order");
            assert!(backlog.is_empty());
        }
        assert_eq!(store.places.len(), 1_000);
    }

    #[test]
    fn what_is_taken_out_is_the_backlogs_own() {
        let mut store = Store::new();
        let (mut one, mut other) = (Backlog::default(), Backlog::default());
        for at in 0..100 {
            one.push(&mut store, at);
            other.push(&mut store, -at);
            if at % 3 == 0 {
                assert_eq!(one.pop(&mut store), Some(at / 3));
            }
        }
        let rest = std::iter::from_fn(|| other.pop(&mut store));
        assert!(rest.eq((0..100).map(|at: i32| -at)));
        let rest = std::iter::from_fn(|| one.pop(&mut store));
        assert!(rest.eq(34..100));
        assert_eq!(store.free.len(), store.places.len());
    }
}
