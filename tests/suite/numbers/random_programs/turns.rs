//! Threads that run one at a time, in an order that the program gives.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Whose turn it is.
pub(super) struct Turns {
    order: &'static [u8],
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    current: usize,
    running: Vec<usize>,
    taken: usize,
}

impl Turns {
    /// The turns of so many threads. The first belongs to thread 0.
    pub(super) fn new(threads: usize, order: &'static [u8]) -> Self {
        Self {
            order,
            state: Mutex::new(State {
                current: 0,
                running: (0..threads).collect(),
                taken: 0,
            }),
            changed: Condvar::new(),
        }
    }

    /// Waits for the first turn of `thread`.
    pub(super) fn begin(&self, thread: usize) {
        drop(self.wait_for(thread, self.lock()));
    }

    /// Ends the turn of `thread`, waits for its next one, and returns how many were taken before.
    pub(super) fn next(&self, thread: usize) -> usize {
        let mut state = self.lock();
        self.pass_on(&mut state);
        self.wait_for(thread, state).taken
    }

    /// Ends the last turn of `thread`.
    pub(super) fn leave(&self, thread: usize) {
        let mut state = self.lock();
        state.running.retain(|running| *running != thread);
        self.pass_on(&mut state);
    }

    fn pass_on(&self, state: &mut State) {
        let turn = self.order.get(state.taken % self.order.len().max(1));
        state.taken += 1;
        if let Some(position) = usize::from(*turn.unwrap_or(&0)).checked_rem(state.running.len()) {
            state.current = state.running[position];
        }
        self.changed.notify_all();
    }

    fn wait_for<'a>(&self, thread: usize, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let is_other = |state: &mut State| state.current != thread;
        let waited = self.changed.wait_while(state, is_other);
        waited.unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
