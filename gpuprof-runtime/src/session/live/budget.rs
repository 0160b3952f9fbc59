//! What answers cost: one is made at a time, and all of them together take 1 % of one processor.

use std::sync::atomic::{
    AtomicBool,
    Ordering::{Acquire, Release},
};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

use super::socket;
use crate::os;
use crate::session::answer_cost;

/// After an answer, so many times its CPU time pass before the next one is made: 1 %, as for the
/// rest of gpuprof.
const PAUSE: u32 = 100;

/// The longest of these pauses. A viewer that waits longer would look dead.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// The shortest interval at which a viewer is to ask for changes.
const MIN_INTERVAL: Duration = Duration::from_secs(1);

/// The shortest time between two viewers, and between two greetings of one: both are answered at
/// once, whatever other answers cost.
pub(super) const PACE: Duration = Duration::from_millis(10);

/// No lock was free, because another thread makes a profile or was stopped while it held one.
pub(super) const LOCKED: &str = "the measurements are locked; try again";
pub(super) const ENDING: &str = "the program ends";

/// The process ends: the driver may be gone soon. Set without the lock, which an answer may hold
/// for longer than the end of the process waits.
static HAS_ENDED: AtomicBool = AtomicBool::new(false);

static ANSWERS: Mutex<Answers> = Mutex::new(Answers { next: None });

/// Held while an answer is made.
struct Answers {
    /// When the next answer may be made; `None`: now.
    next: Option<Instant>,
}

/// What an answer cost, and what that means for the next one.
pub(super) struct Cost {
    /// CPU time of all answers so far, ns.
    pub(super) spent_ns: u64,
    /// When the viewer should ask again.
    pub(super) interval: Duration,
}

/// Lets no answer be made from now on, waits at most `limit` for the one that is being made, and
/// removes the socket.
pub(in crate::session) fn stop(limit: Duration) {
    HAS_ENDED.store(true, Release);
    socket::remove();
    drop(ANSWERS.try_lock_for(limit));
}

/// Counts CPU time of the calling thread for an answer that was made, ns.
pub(super) fn charge(cpu_ns: u64) {
    answer_cost::add(cpu_ns);
    let spent = Duration::from_nanos(cpu_ns);
    let mut answers = ANSWERS.lock();
    let now = Instant::now();
    let next = answers.next.filter(|next| *next > now).unwrap_or(now);
    let latest = now.checked_add(MAX_PAUSE);
    let next = next.checked_add(spent.saturating_mul(PAUSE));
    answers.next = next.min(latest);
}

/// Makes an answer as soon as the cost of the earlier ones allows. `None`: the process ends.
pub(super) fn make<T>(make: impl FnOnce() -> T) -> Option<(T, Cost)> {
    let mut answers = wait()?;
    let before = os::thread_cpu_ns();
    let answer = make();
    let cpu_ns = os::thread_cpu_ns().saturating_sub(before);
    answer_cost::add(cpu_ns);
    let pause = Duration::from_nanos(cpu_ns)
        .saturating_mul(PAUSE)
        .min(MAX_PAUSE);
    answers.next = Instant::now().checked_add(pause);
    let cost = Cost {
        spent_ns: answer_cost::spent_ns(),
        interval: pause.max(MIN_INTERVAL),
    };
    Some((answer, cost))
}

fn wait() -> Option<MutexGuard<'static, Answers>> {
    loop {
        let answers = ANSWERS.lock();
        if HAS_ENDED.load(Acquire) {
            return None;
        }
        let now = Instant::now();
        let Some(next) = answers.next.filter(|next| *next > now) else {
            return Some(answers);
        };
        drop(answers);
        thread::sleep(next.saturating_duration_since(now));
    }
}
