//! The locks that launches and the end of PC sampling take in opposite orders: that of the driver,
//! and then CUPTI's inside a launch; CUPTI's and then that of the driver in `cuptiPCSamplingStop`.
//! So it is in libcupti 13.0: both wait for good if they run at once.

use std::cell::Cell;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use simbase::activity::Call;
use simbase::cbid;

use crate::state;

const LAUNCHES: [u32; 2] = [
    cbid::driver("cuLaunchKernel"),
    cbid::driver("cuGraphLaunch"),
];
/// Between the two locks of an end, so that every launch that begins meanwhile meets it.
const BETWEEN: Duration = Duration::from_millis(1);

/// The launches that hold the driver's lock.
static DRIVER: Mutex<usize> = Mutex::new(0);
static LAUNCHED: Condvar = Condvar::new();
static CUPTI: Mutex<()> = Mutex::new(());

thread_local! {
    static IS_LAUNCHING: Cell<bool> = const { Cell::new(false) };
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn is_launch(call: &Call<'_>) -> bool {
    LAUNCHES.contains(&call.cbid)
}

/// The driver begins what a call does.
pub(crate) fn begin(call: &Call<'_>) {
    if is_launch(call) && !state::lock().pc_sampling.is_empty() {
        *lock(&DRIVER) += 1;
        IS_LAUNCHING.set(true);
    }
}

/// The driver has done it.
pub(crate) fn end() {
    if IS_LAUNCHING.replace(false) {
        drop(lock(&CUPTI));
        *lock(&DRIVER) -= 1;
        LAUNCHED.notify_all();
    }
}

/// Takes both locks for a moment, as an end of sampling does.
pub(crate) fn take_both() {
    let _cupti = lock(&CUPTI);
    thread::sleep(BETWEEN);
    let launches = lock(&DRIVER);
    let free = LAUNCHED.wait_while(launches, |launches| *launches > 0);
    drop(free.unwrap_or_else(PoisonError::into_inner));
}
