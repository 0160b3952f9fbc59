//! Keeps the program's CUDA calls waiting while CUPTI is called that must not run beside them.
//!
//! `cuptiPCSamplingStop` takes a lock of libcupti's and then waits for one of the driver's. A
//! launch of another thread has the driver's and waits for libcupti's, so that neither returns.
//! Programs that launch on four threads also stopped when sampling started beside them. And a
//! thread that is inside `cudaDeviceSynchronize` when gpuprof unsubscribes has one correlation id
//! for all of its calls after the next subscription (all on an H200, driver 580.159.04, libcupti
//! 13.0). PC sampling does not know the kernels of loaded modules if a launch runs while records of
//! kernels are enabled (H100, the same versions).

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// How long a call may have run uncounted at first, such as a launch into a full queue.
const UNCOUNTED_TIME: Duration = Duration::from_millis(100);
/// How often it is looked whether the calls have returned.
const PERIOD: Duration = Duration::from_micros(50);
/// How long calls wait for those of other threads at a time.
const LIMIT: Duration = Duration::from_millis(20);
/// The part of [`INSIDE`] that counts threads in synchronizations.
const IN_WAITS: u64 = 0xffff << 16;
/// The part for those in other calls.
const IN_OTHERS: u64 = 0xffff;
/// Both; the rest numbers the counting.
const COUNT: u64 = IN_WAITS | IN_OTHERS;

static IS_COUNTING: AtomicBool = AtomicBool::new(false);
static IS_CLOSED: AtomicBool = AtomicBool::new(false);
/// The threads inside calls, and which counting that is of: a call of an earlier one may have
/// returned unseen.
static INSIDE: AtomicU64 = AtomicU64::new(0);
/// Held while the gate is closed; since when calls are counted.
static GATE: Mutex<Option<Instant>> = Mutex::new(None);

thread_local! {
    static HERE: Cell<Here> = const {
        Cell::new(Here { round: 0, calls: 0, counts: 0, is_closing: false })
    };
}

/// Calls of the program's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Calls {
    All,
    /// Without synchronizations, which may take long.
    WithoutWaits,
}

/// Where a thread is.
#[derive(Clone, Copy)]
struct Here {
    round: u64,
    /// The calls that it is in, of which the outermost counts.
    calls: u32,
    /// What it adds to [`INSIDE`].
    counts: u64,
    is_closing: bool,
}

/// From now on calls are counted.
pub(crate) fn count_calls() {
    let mut since = GATE.lock();
    if !IS_COUNTING.load(SeqCst) {
        let next_round = |inside: u64| Some((inside | COUNT) + 1);
        let _ = INSIDE.fetch_update(SeqCst, SeqCst, next_round);
        *since = Some(Instant::now());
        IS_COUNTING.store(true, SeqCst);
    }
}

/// Calls are not counted from now on. A fork handler may call it.
pub(super) fn forget_calls() {
    IS_COUNTING.store(false, SeqCst);
}

#[inline]
pub(super) fn counts_calls() -> bool {
    IS_COUNTING.load(SeqCst)
}

/// Where this thread is. The calls of an earlier counting may have returned unseen.
fn here() -> Here {
    let mut here = HERE.get();
    if here.round != round(INSIDE.load(SeqCst)) {
        here.calls = 0;
    }
    here
}

/// Before a call of the program's has any lock. Waits while the gate is closed.
pub(super) fn enter(waits: bool) {
    let counts = if waits { 1 << 16 } else { 1 };
    HERE.set(here().enter(counts));
}

/// A call of the program's returns.
pub(super) fn leave() {
    HERE.set(HERE.get().leave());
}

/// Does something while none of these calls runs, inside a call that has no lock yet, or outside.
/// `None`, without doing it: there was no such moment for `time`. The calls of other threads wait
/// for it at most [`LIMIT`] at once.
pub(super) fn between_calls<R>(time: Duration, of: Calls, act: impl FnOnce() -> R) -> Option<R> {
    let began = Instant::now();
    let mut act = Some(act);
    loop {
        if let Some(answer) = closed(of, &mut act) {
            return Some(answer);
        }
        if act.is_none() || began.elapsed() >= time {
            return None;
        }
        thread::sleep(LIMIT);
    }
}

/// Calls `act`, if it is there, with the gate closed.
fn closed<R>(of: Calls, act: &mut Option<impl FnOnce() -> R>) -> Option<R> {
    let here = here();
    if here.is_closing {
        return act.take().map(|act| act());
    }
    if here.calls > 0 {
        here.remove();
    }
    let answer = GATE.try_lock_for(LIMIT).and_then(|since| {
        let counted_for = since.map_or(Duration::ZERO, |since| since.elapsed());
        thread::sleep(UNCOUNTED_TIME.saturating_sub(counted_for));
        let _closed = ClosedGate::close(here);
        let began = Instant::now();
        while of.any_runs() && began.elapsed() < LIMIT {
            thread::sleep(PERIOD);
        }
        let act = act.take_if(|_| !of.any_runs())?;
        Some(act())
    });
    if here.calls > 0 {
        HERE.set(here.add_when_open());
    }
    answer
}

/// The gate while this thread keeps it closed, also if what it does panics.
struct ClosedGate {
    was_here: Here,
}

impl ClosedGate {
    fn close(was_here: Here) -> Self {
        HERE.set(Here {
            is_closing: true,
            ..was_here
        });
        IS_CLOSED.store(true, SeqCst);
        Self { was_here }
    }
}

impl Drop for ClosedGate {
    fn drop(&mut self) {
        IS_CLOSED.store(false, SeqCst);
        HERE.set(self.was_here);
    }
}

impl Calls {
    fn any_runs(self) -> bool {
        let counted = match self {
            Self::All => COUNT,
            Self::WithoutWaits => IN_OTHERS,
        };
        INSIDE.load(SeqCst) & counted > 0
    }
}

impl Here {
    fn enter(mut self, counts: u64) -> Self {
        if self.is_closing {
            return self;
        }
        if self.calls == 0 {
            self.counts = counts;
            self = self.add_when_open();
        } else if IS_CLOSED.load(SeqCst) {
            // The call around this one has no lock either.
            self.remove();
            self = self.add_when_open();
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
            self.remove();
        }
        self
    }

    /// Counts the thread once the gate is open.
    fn add_when_open(mut self) -> Self {
        loop {
            self.round = round(INSIDE.fetch_add(self.counts, SeqCst));
            if !IS_CLOSED.load(SeqCst) {
                return self;
            }
            self.remove();
            drop(GATE.lock());
        }
    }

    fn remove(self) {
        let is_counted = |inside: u64| round(inside) == self.round && inside & COUNT >= self.counts;
        let without = |inside: u64| is_counted(inside).then(|| inside - self.counts);
        let _ = INSIDE.fetch_update(SeqCst, SeqCst, without);
    }
}

fn round(inside: u64) -> u64 {
    inside & !COUNT
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
    use std::sync::mpsc::{Receiver, channel};
    use std::thread;
    use std::time::Duration;

    use super::{Calls, between_calls, count_calls, enter, forget_calls, leave};

    /// A thread that is inside a call until something is sent.
    fn inside(waits: bool, ends: Receiver<()>) -> thread::JoinHandle<()> {
        let (begun, begins) = channel();
        let thread = thread::spawn(move || {
            enter(waits);
            // The runtime calls the driver.
            enter(false);
            leave();
            begun.send(()).expect("the test waits");
            ends.recv().expect("the test sends");
            leave();
        });
        begins.recv().expect("it begins");
        thread
    }

    fn is_between(of: Calls) -> bool {
        between_calls(Duration::ZERO, of, || ()).is_some()
    }

    const LONG: Duration = Duration::from_secs(60);

    /// One test, because the gate is that of the process.
    #[test]
    fn something_is_done_while_no_thread_is_inside_a_call() {
        random_calls();
        cases();
    }

    /// Threads that call what takes a while, as a runtime's call of the driver's, and now and then
    /// do something themselves, inside a call and outside.
    fn random_calls() {
        const THREADS: u64 = 4;
        const CALLS: u64 = 300;
        let (launches, waits) = (AtomicU64::new(0), AtomicU64::new(0));
        let act = |of| {
            let answer = between_calls(LONG, of, || {
                for _ in 0..5 {
                    assert_eq!(launches.load(SeqCst), 0);
                    assert!(of == Calls::WithoutWaits || waits.load(SeqCst) == 0);
                    thread::yield_now();
                }
            });
            assert!(answer.is_some());
        };
        count_calls();
        thread::scope(|scope| {
            for seed in 0..THREADS {
                let (act, launches, waits) = (&act, &launches, &waits);
                scope.spawn(move || {
                    let mut random = fastrand::Rng::with_seed(seed);
                    for _ in 0..CALLS {
                        let is_wait = random.bool();
                        enter(is_wait);
                        if random.u8(0..40) == 0 {
                            act(*random.choice(&[Calls::All, Calls::WithoutWaits]).unwrap());
                        }
                        let is_nested = random.bool();
                        if is_nested {
                            thread::yield_now();
                            enter(random.bool());
                        }
                        let inside = if is_wait { waits } else { launches };
                        inside.fetch_add(1, SeqCst);
                        thread::yield_now();
                        inside.fetch_sub(1, SeqCst);
                        if is_nested {
                            leave();
                        }
                        leave();
                        if random.u8(0..40) == 0 {
                            act(Calls::All);
                        }
                    }
                });
            }
        });
        assert!(is_between(Calls::All));
        forget_calls();
    }

    fn cases() {
        count_calls();
        for (waits, expected) in [(false, [false, false]), (true, [false, true])] {
            let (end, ends) = channel();
            let thread = inside(waits, ends);
            let found = [Calls::All, Calls::WithoutWaits].map(is_between);
            assert_eq!(found, expected, "{waits}");
            end.send(()).expect("it waits");
            assert!(between_calls(LONG, Calls::All, || ()).is_some());
            thread.join().expect("it ends");
        }
        // Inside a call of its own, also twice, and inside itself.
        enter(false);
        enter(false);
        assert!(is_between(Calls::All));
        assert!(between_calls(LONG, Calls::All, || is_between(Calls::All)) == Some(true));
        // It counts again.
        let other = thread::spawn(|| is_between(Calls::All));
        assert!(!other.join().expect("it ends"));
        leave();
        leave();
        leave();
        assert!(is_between(Calls::All));
        // Calls wait meanwhile.
        let waiting = between_calls(LONG, Calls::All, || {
            let thread = thread::spawn(|| {
                enter(false);
                leave();
            });
            thread::sleep(Duration::from_millis(5));
            assert!(!thread.is_finished());
            thread
        });
        waiting.expect("no call runs").join().expect("it goes on");
        // Also inside a call that goes on.
        let (has_acted, parts) = (AtomicBool::new(false), AtomicU64::new(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                enter(false);
                while !has_acted.load(SeqCst) {
                    enter(false);
                    parts.fetch_add(1, SeqCst);
                    leave();
                }
                leave();
            });
            while parts.load(SeqCst) == 0 {
                thread::yield_now();
            }
            let stands_still = between_calls(LONG, Calls::All, || {
                let before = parts.load(SeqCst);
                thread::sleep(Duration::from_millis(5));
                parts.load(SeqCst) == before
            });
            has_acted.store(true, SeqCst);
            assert_eq!(stands_still, Some(true));
        });
        // Or panics.
        let panics = || between_calls(LONG, Calls::All, || panic!("as the test wants it"));
        assert!(thread::spawn(panics).join().is_err());
        assert!(is_between(Calls::All));
        // A call that returns unseen does not count when calls are counted anew.
        thread::spawn(|| enter(false)).join().expect("it ends");
        assert!(!is_between(Calls::All));
        forget_calls();
        count_calls();
        assert!(is_between(Calls::All));
        // Nor does its thread, which asks for a moment later.
        let asks = || {
            enter(false);
            forget_calls();
            count_calls();
            assert!(is_between(Calls::All));
        };
        thread::spawn(asks).join().expect("it ends");
        assert!(is_between(Calls::All));
        forget_calls();
    }
}
