//! The simulated driver, as this library finds it loaded: its clock, and whom it tells of its calls. Must never load one.

use std::sync::OnceLock;

use simbase::library::loaded;
use simbase::watch::{NOW, WATCH, Watcher};

use crate::codes::{Answer, Code};

/// The names that a driver may have been loaded under: by a launcher in the real one's place, and by `simcuda::install`.
const NAMES: [&str; 2] = ["libcuda.so.1", "libcuda.so"];

struct Driver {
    now: extern "C" fn() -> u64,
    watch: extern "C" fn(Option<Watcher>),
}

/// Now, in ns of the driver's clock; NOT_INITIALIZED where no simulated driver is loaded.
pub(crate) fn now() -> Answer<u64> {
    Ok((driver()?.now)())
}

/// Has the driver tell `watcher` of its calls, or nobody; NOT_INITIALIZED where no simulated driver is loaded.
pub(crate) fn watch(watcher: Option<Watcher>) -> Answer {
    (driver()?.watch)(watcher);
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
    // SAFETY: `simbase::watch` documents the type, and both packages are built together.
    let now = *unsafe { library.get(NOW) }.ok()?;
    // SAFETY: as above.
    let watch = *unsafe { library.get(WATCH) }.ok()?;
    // The driver is never unloaded.
    std::mem::forget(library);
    Some(Driver { now, watch })
}
