//! What answers cost: one is made at a time, and all of them together take 1 % of one processor.

use std::thread;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use super::socket;
use crate::session::answer_cost;
use crate::session::serving::{self, Budget, cpu_time_of};

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

/// Held while an answer is made.
static ANSWERS: Mutex<Budget> = Mutex::new(Budget::new(PAUSE, MAX_PAUSE));

/// What an answer cost, and what that means for the next one.
pub(super) struct AnswerCost {
    /// CPU time of all answers so far, ns.
    pub(super) spent_ns: u64,
    /// When the viewer should ask again.
    pub(super) interval: Duration,
}

/// Removes the socket, lets no answer be made from now on, and waits at most `limit` for the one
/// that is being made.
pub(in crate::session) fn stop(limit: Duration) {
    socket::remove();
    serving::stop(&ANSWERS, limit);
}

/// Counts CPU time of the calling thread for an answer that was made.
pub(super) fn charge(spent: Duration) {
    answer_cost::add(spent);
    ANSWERS.lock().spend(spent);
}

/// Makes an answer as soon as the cost of the earlier ones allows. `None`: the process ends.
pub(super) fn make<T>(make: impl FnOnce() -> T) -> Option<(T, AnswerCost)> {
    let mut answers = wait()?;
    let (answer, spent) = cpu_time_of(make);
    answer_cost::add(spent);
    let pause = answers.spend(spent);
    let cost = AnswerCost {
        spent_ns: answer_cost::spent_ns(),
        interval: pause.max(MIN_INTERVAL),
    };
    Some((answer, cost))
}

/// Makes the answer to a viewer whose look is over, at once: CUPTI is not left before. Its cost
/// counts for the next answer. `None`: the process ends.
pub(super) fn make_at_once<T>(make: impl FnOnce() -> T) -> Option<T> {
    let mut answers = ANSWERS.lock();
    if serving::has_ended() {
        return None;
    }
    let (answer, spent) = cpu_time_of(make);
    answer_cost::add(spent);
    answers.spend(spent);
    Some(answer)
}

fn wait() -> Option<MutexGuard<'static, Budget>> {
    loop {
        let answers = ANSWERS.lock();
        if serving::has_ended() {
            return None;
        }
        let Some(wait) = answers.wait() else {
            return Some(answers);
        };
        drop(answers);
        thread::sleep(wait);
    }
}
