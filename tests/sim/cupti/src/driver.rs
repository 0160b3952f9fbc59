//! The loaded simulated driver: its clock, its contexts, and the function that it calls after each
//! driver call. This library never loads a driver itself.

use std::sync::OnceLock;

use simbase::activity::{ADVANCE, CLOCK, FIND_CONTEXT, FoundContext, Observer, SET_OBSERVER};
use simbase::library::loaded;

use crate::result_codes::{Answer, Code};

/// The names under which the driver may be loaded: by a launcher in the real one's place, and by
/// `simcuda::install`.
const NAMES: [&str; 2] = ["libcuda.so.1", "libcuda.so"];

struct Driver {
    now: extern "C" fn() -> u64,
    advance: extern "C" fn(u64),
    set_observer: extern "C" fn(Option<Observer>),
    find_context: extern "C" fn(u64) -> FoundContext,
}

/// The present time in ns of the driver's clock; NOT_INITIALIZED if no simulated driver is loaded.
pub(crate) fn now() -> Answer<u64> {
    Ok((driver()?.now)())
}

/// Advances the driver's clock, if that is virtual, by `ns`; NOT_INITIALIZED if no simulated driver
/// is loaded.
pub(crate) fn advance(ns: u64) -> Answer {
    (driver()?.advance)(ns);
    Ok(())
}

/// The context of a handle; NOT_INITIALIZED if no simulated driver is loaded. Must be called
/// without the state lock.
pub(crate) fn find_context(context: u64) -> Answer<FoundContext> {
    Ok((driver()?.find_context)(context))
}

/// Sets or removes the observer of driver calls; NOT_INITIALIZED if no simulated driver is loaded.
pub(crate) fn set_observer(observer: Option<Observer>) -> Answer {
    (driver()?.set_observer)(observer);
    Ok(())
}

fn driver() -> Answer<&'static Driver> {
    static DRIVER: OnceLock<Driver> = OnceLock::new();
    if let Some(driver) = DRIVER.get() {
        return Ok(driver);
    }
    let found = NAMES
        .into_iter()
        .find_map(find)
        .ok_or(Code::NOT_INITIALIZED)?;
    Ok(DRIVER.get_or_init(|| found))
}

fn find(name: &str) -> Option<Driver> {
    let library = loaded(name)?;
    // SAFETY: `simbase::activity` documents the type, and both packages are built together.
    let now = *unsafe { library.get(CLOCK) }.ok()?;
    // SAFETY: as above.
    let advance = *unsafe { library.get(ADVANCE) }.ok()?;
    // SAFETY: as above.
    let set_observer = *unsafe { library.get(SET_OBSERVER) }.ok()?;
    // SAFETY: as above.
    let find_context = *unsafe { library.get(FIND_CONTEXT) }.ok()?;
    // The driver is never unloaded.
    std::mem::forget(library);
    Some(Driver {
        now,
        advance,
        set_observer,
        find_context,
    })
}
