//! Calls in a context that need not be the thread's current one.

use crate::driver::handles::Context;
use crate::driver::table::{Driver, FailedCall};

/// Runs `f` with `context` current, pushed and popped again where it is not: the thread's own
/// choice stays as it is. `Err`: it could not be made current, so `f` did not run; in another
/// context it would make events that fit nowhere.
#[inline]
pub(crate) fn with_current<R>(
    driver: &Driver,
    context: Context,
    f: impl FnOnce() -> R,
) -> Result<R, FailedCall> {
    let before = driver.current();
    if before == Ok(context) {
        return Ok(f());
    }
    with_other_current(driver, context, before, f)
}

#[cold]
fn with_other_current<R>(
    driver: &Driver,
    context: Context,
    before: Result<Context, FailedCall>,
    f: impl FnOnce() -> R,
) -> Result<R, FailedCall> {
    if let Some(failed) = driver.is_stuck() {
        return Err(failed);
    }
    driver.push(context)?;
    let result = f();
    if driver.pop().is_err() {
        restore(driver, context, before);
    }
    Ok(result)
}

/// After a pop that failed: makes what was current before current again. Such a pop may have worked
/// all the same.
#[cold]
pub(crate) fn restore(driver: &Driver, pushed: Context, before: Result<Context, FailedCall>) {
    if driver.current().is_ok_and(|current| current != pushed) {
        return;
    }
    let Err(failed) = driver.pop() else { return };
    driver.note_stuck(failed);
    if let Ok(before) = before {
        // A failure is counted; the thread then keeps a current context it did not have.
        let _ = driver.set_current(before);
    }
}
