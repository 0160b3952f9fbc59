//! Delivers each schedule cycle's profile to the user's callback, in order and exactly once.

use std::cell::Cell;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::MutexGuard;

use super::current_profile;
use super::waits::LOCK_LIMIT;
use crate::collector::collector;
use crate::collector::session_state::{Callback, Delivery};
use crate::collector::window_copy::WindowCopy;
use crate::os::fork;
use crate::os::own_work::{self, OwnWork};
use gpuprof_report::profile::Profile;

thread_local! {
    static RUNS_HERE: Cell<bool> = const { Cell::new(false) };
}

fn delivery() -> MutexGuard<'static, Delivery> {
    collector().session.delivery.lock()
}

/// Calls `f` with the profile of each cycle of a [`Schedule`](crate::Schedule).
///
/// It is called from [`step`](crate::step), at the first step after the cycle at which the GPU
/// times of all its calls have been read, at the latest when the next cycle begins to measure.
/// Calls that the GPU has not finished by then count as unfinished; a schedule with at least one
/// step of `wait` gives them time. The last cycle, complete or not, is delivered when the session
/// or the process ends.
///
/// A second `f` replaces the first. A panic in `f` reaches the caller of [`step`](crate::step). If
/// another thread ends a cycle while `f` runs, the thread that runs `f` calls it again. A cycle
/// that `f` itself ends, by a step or by ending the process, is not delivered, because that might
/// never end; it counts in the sum of all cycles.
///
/// ```
/// # use gpuprof_runtime as gpuprof;
/// gpuprof::on_profile_ready(|profile| eprintln!("{profile}"));
/// ```
pub fn on_profile_ready(f: impl FnMut(Profile) + Send + 'static) {
    if fork::is_child() {
        return;
    }
    let callback = Box::new(f);
    let before = {
        // This may be the first use of the collector.
        let _own = OwnWork::begin();
        delivery().callback.replace(callback)
    };
    // Without the lock, as it may be the last owner of anything of the program.
    drop(before);
}

/// Has [`deliver`] make a cycle's profile and call the callback with it, if there is one.
pub(super) fn queue(cycle: WindowCopy) {
    let mut delivery = delivery();
    if !RUNS_HERE.get() && (delivery.callback.is_some() || delivery.is_running) {
        delivery.queue.push_back(cycle);
    }
}

/// Calls the callback outside of every lock: it may use all of gpuprof. If it runs already, the
/// thread that runs it calls it with the queued profiles next.
pub(super) fn deliver() {
    while let Some((mut running, cycle)) = CallbackInFlight::next() {
        let profile = collector().build_profile(cycle, LOCK_LIMIT);
        if let Some(mut profile) = profile {
            current_profile::complete(&mut profile);
            own_work::run_programs(|| (running.callback)(profile));
        }
    }
}

/// Waits at most `limit` until no other thread runs the callback: at the end of the process, the
/// profiles that are still queued would be lost.
pub(super) fn wait(limit: Duration) {
    let began = Instant::now();
    while !RUNS_HERE.get() && delivery().is_running && began.elapsed() < limit {
        thread::sleep(Duration::from_millis(1));
    }
}

/// The callback while it runs. Dropping this puts it back, also during a panic.
struct CallbackInFlight {
    callback: Callback,
}

impl CallbackInFlight {
    /// The callback and the cycle to call it with. `None` if none is queued, or if it runs already.
    fn next() -> Option<(Self, WindowCopy)> {
        let mut delivery = delivery();
        if delivery.is_running {
            return None;
        }
        let callback = delivery.callback.take()?;
        let Some(cycle) = delivery.queue.pop_front() else {
            delivery.callback = Some(callback);
            return None;
        };
        delivery.is_running = true;
        RUNS_HERE.set(true);
        Some((Self { callback }, cycle))
    }
}

impl Drop for CallbackInFlight {
    fn drop(&mut self) {
        let callback = std::mem::replace(&mut self.callback, Box::new(drop));
        RUNS_HERE.set(false);
        let mut delivery = delivery();
        delivery.is_running = false;
        // The callback may have been replaced while it ran.
        delivery.callback.get_or_insert(callback);
    }
}
