//! Keeps the program's CUDA calls waiting while sampling starts or ends.
//!
//! `cuptiPCSamplingStop` takes a lock of libcupti's and then waits for one of the driver's. A
//! launch of another thread has the driver's and waits for libcupti's, so that neither returns.
//! Programs that launch on four threads also stopped when sampling started beside them (H200,
//! driver 580.159.04, libcupti 13.0).

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// How long a call may have run uncounted when calls were counted first.
const UNCOUNTED_TIME: Duration = Duration::from_millis(20);
/// How often it is looked whether the calls have returned.
const PERIOD: Duration = Duration::from_micros(50);
/// The part of [`INSIDE`] that counts threads; the rest numbers the counting.
const COUNT: u64 = u32::MAX as u64;

static IS_COUNTING: AtomicBool = AtomicBool::new(false);
static IS_CLOSED: AtomicBool = AtomicBool::new(false);
/// The threads inside a call, and which counting that is of: a call of an earlier one may have
/// returned unseen.
static INSIDE: AtomicU64 = AtomicU64::new(0);
/// Held while the gate is closed; since when calls are counted.
static GATE: Mutex<Option<Instant>> = Mutex::new(None);

thread_local! {
    static HERE: Cell<Here> = const { Cell::new(Here { round: 0, calls: 0, is_closing: false }) };
}

/// Where a thread is.
#[derive(Clone, Copy)]
struct Here {
    round: u64,
    /// The calls that it is in, all of which it counts for as one.
    calls: u32,
    is_closing: bool,
}

/// From now on calls are counted.
pub(super) fn count_calls() {
    let mut since = GATE.lock();
    let next_round = |inside: u64| Some((inside | COUNT) + 1);
    let _ = INSIDE.fetch_update(SeqCst, SeqCst, next_round);
    *since = Some(Instant::now());
    IS_COUNTING.store(true, SeqCst);
}

/// Calls are not counted from now on.
pub(super) fn forget_calls() {
    IS_COUNTING.store(false, SeqCst);
}

#[inline]
pub(in crate::cupti::collect) fn counts_calls() -> bool {
    IS_COUNTING.load(SeqCst)
}

/// Before a call of the program's has any lock. Waits while the gate is closed.
pub(in crate::cupti::collect) fn enter() {
    // Fails if the thread is ending.
    let _ = HERE.try_with(|here| here.set(here.get().enter()));
}

/// A call of the program's returns.
pub(in crate::cupti::collect) fn leave() {
    let _ = HERE.try_with(|here| here.set(here.get().leave()));
}

/// Does something while no call runs, inside a call that has no lock yet, or outside. `None`,
/// without doing it: calls have not returned within `limit`.
pub(super) fn closed<R>(limit: Duration, act: impl FnOnce() -> R) -> Option<R> {
    let began = Instant::now();
    let here = HERE.try_with(Cell::get).ok()?;
    if here.is_closing {
        return Some(act());
    }
    if here.calls > 0 {
        remove(here.round);
    }
    let answer = GATE.try_lock_for(limit).and_then(|since| {
        let closing = Here {
            is_closing: true,
            ..here
        };
        let _ = HERE.try_with(|here| here.set(closing));
        IS_CLOSED.store(true, SeqCst);
        let counted_for = since.map_or(Duration::ZERO, |since| since.elapsed());
        thread::sleep(UNCOUNTED_TIME.saturating_sub(counted_for));
        while count() > 0 && began.elapsed() < limit {
            thread::sleep(PERIOD);
        }
        let answer = (count() == 0).then(act);
        IS_CLOSED.store(false, SeqCst);
        answer
    });
    let back = if here.calls > 0 {
        Here {
            round: add_when_open(),
            ..here
        }
    } else {
        here
    };
    let _ = HERE.try_with(|here| here.set(back));
    answer
}

impl Here {
    fn enter(mut self) -> Self {
        if self.is_closing {
            return self;
        }
        if self.round != round(INSIDE.load(SeqCst)) {
            self.calls = 0;
        }
        if self.calls > 0 && IS_CLOSED.load(SeqCst) {
            // The call around this one has no lock either.
            remove(self.round);
            self.round = add_when_open();
        } else if self.calls == 0 {
            self.round = add_when_open();
        }
        self.calls += 1;
        self
    }

    fn leave(mut self) -> Self {
        if self.is_closing || self.calls == 0 {
            return self;
        }
        self.calls -= 1;
        if self.calls == 0 {
            remove(self.round);
        }
        self
    }
}

fn round(inside: u64) -> u64 {
    inside & !COUNT
}

/// The threads inside calls.
fn count() -> u64 {
    INSIDE.load(SeqCst) & COUNT
}

/// Counts the thread once the gate is open. Returns of which counting.
fn add_when_open() -> u64 {
    loop {
        let of = round(INSIDE.fetch_add(1, SeqCst));
        if !IS_CLOSED.load(SeqCst) {
            return of;
        }
        remove(of);
        drop(GATE.lock());
    }
}

fn remove(of: u64) {
    let is_counted = |inside: u64| round(inside) == of && inside & COUNT > 0;
    let without = |inside: u64| is_counted(inside).then(|| inside - 1);
    let _ = INSIDE.fetch_update(SeqCst, SeqCst, without);
}
