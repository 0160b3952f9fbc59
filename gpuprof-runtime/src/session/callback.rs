//! Who wants to know of a schedule's cycles, and the calls by which they are told: one after another, each cycle once.
//!
//! Must not import the collector.

use std::cell::Cell;
use std::collections::VecDeque;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use gpuprof_report::profile::Profile;

/// Who wants to know of cycles.
static ON_READY: Mutex<Ready> = Mutex::new(Ready {
    f: None,
    waiting: VecDeque::new(),
    is_running: false,
});

thread_local! {
    static RUNS_HERE: Cell<bool> = const { Cell::new(false) };
}

struct Ready {
    /// `None` also while it runs.
    f: Option<OnReady>,
    /// Cycles that it is to be called with.
    waiting: VecDeque<Profile>,
    is_running: bool,
}

type OnReady = Box<dyn FnMut(Profile) + Send>;

/// Calls `f` with what each cycle of a [`Schedule`](crate::Schedule) has measured.
///
/// It is called from [`step`](crate::step), at the first step after the cycle's last at which the GPU times of all its
/// calls are there, at the latest when the next cycle begins to measure; what the GPU has not finished by then is counted as
/// unfinished. A schedule with a step or more of `wait` gives them time. The last cycle, whole or not, comes when the session
/// or the process ends. Given twice, the later `f` is called; a panic in it is the caller's of [`step`](crate::step). A cycle
/// that another thread ends while `f` runs is handed to it next, by the thread that it runs on. One that `f` itself ends, by
/// a step or with the process, is not handed over, as that might never end; it counts in the sum.
///
/// ```
/// # use gpuprof_runtime as gpuprof;
/// gpuprof::on_profile_ready(|profile| eprintln!("{profile}"));
/// ```
pub fn on_profile_ready(f: impl FnMut(Profile) + Send + 'static) {
    ON_READY.lock().f = Some(Box::new(f));
}

/// Calls that function, outside of every lock: it may use all of gpuprof. Where it runs already, whoever runs it calls it again.
pub(super) fn deliver(mut profile: Profile) {
    if RUNS_HERE.get() {
        return;
    }
    super::control::complete(&mut profile);
    {
        let mut ready = ON_READY.lock();
        if ready.f.is_none() && !ready.is_running {
            return;
        }
        ready.waiting.push_back(profile);
    }
    while let Some((mut running, profile)) = RunningReady::next() {
        (running.f)(profile);
    }
}

/// Waits, at most `limit`, until no other thread runs that function: at the end of the process what it is still to be called
/// with would be lost.
pub(super) fn wait(limit: Duration) {
    let began = Instant::now();
    while !RUNS_HERE.get() && ON_READY.lock().is_running && began.elapsed() < limit {
        thread::sleep(Duration::from_millis(1));
    }
}

/// That function while it runs. It goes back where it was when this is dropped, also by a panic.
struct RunningReady {
    f: OnReady,
}

impl RunningReady {
    /// What it is to be called with now; `None` where there is nothing, or it runs already.
    fn next() -> Option<(Self, Profile)> {
        let mut ready = ON_READY.lock();
        if ready.is_running {
            return None;
        }
        let f = ready.f.take()?;
        let Some(profile) = ready.waiting.pop_front() else {
            ready.f = Some(f);
            return None;
        };
        ready.is_running = true;
        RUNS_HERE.set(true);
        Some((Self { f }, profile))
    }
}

impl Drop for RunningReady {
    fn drop(&mut self) {
        let f = std::mem::replace(&mut self.f, Box::new(drop));
        RUNS_HERE.set(false);
        let mut ready = ON_READY.lock();
        ready.is_running = false;
        // Another may have been given meanwhile.
        ready.f.get_or_insert(f);
    }
}
