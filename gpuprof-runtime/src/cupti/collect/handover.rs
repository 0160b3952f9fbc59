//! Hands CUPTI over to the program's own profiler, such as torch.profiler, when that asks for it.
//!
//! CUPTI refuses a second subscriber that does not share, and does not notify the first. A profiler
//! that is refused records nothing and does not subscribe again. Therefore its call comes here
//! first. gpuprof does not share CUPTI either, which could then refuse that profiler for good.

use std::ffi::{OsStr, c_void};
use std::path::Path;
use std::time::Duration;

use gpuprof_report::sanitize;
use parking_lot::Mutex;

use super::bindings::{
    CuptiCallback, CuptiResult, MULTIPLE_SUBSCRIBERS, SUCCESS, Subscriber, SubscriberParams,
};
use super::library::{CallError, CuptiLibrary};
use super::{collection, lifecycle};
use crate::os::modules;
use crate::os::own_work::OwnWork;
use crate::os::redirection::Redirection;

/// Characters of a library's name.
const MAX_NAME: usize = 60;

/// Timeout for the last records, and for another thread that hands over.
const LIMIT: Duration = Duration::from_secs(2);

/// What is handed over.
struct Offer {
    library: Option<&'static CuptiLibrary>,
    /// Empty if it was handed over, or is not offered.
    redirections: Vec<Redirection>,
    stop_measuring: fn(),
}

static OFFER: Mutex<Offer> = Mutex::new(Offer {
    library: None,
    redirections: Vec::new(),
    stop_measuring: || {},
});

/// From now on CUPTI is handed over to a profiler that subscribes, after `stop_measuring`. If the
/// system does not let code be changed, that profiler is refused.
pub(crate) fn offer(stop_measuring: fn()) {
    let Some(subscription) = lifecycle::subscription() else {
        return;
    };
    let mut offer = OFFER.lock();
    offer.library = Some(subscription.library);
    offer.stop_measuring = stop_measuring;
    let targets = [
        on_subscribe as *const c_void,
        on_subscribe_v2 as *const c_void,
    ];
    let functions = subscription.library.subscribe_functions();
    for (function, target) in functions.into_iter().zip(targets) {
        // SAFETY: the library is never unloaded, the target has the function's signature, and no
        // other thread is inside its first instructions while CUDA is initialized.
        let redirection =
            function.map(|function| unsafe { Redirection::install(function, target) });
        if let Some(Ok(redirection)) = redirection {
            offer.redirections.push(redirection);
        }
    }
}

/// Takes the place of `cuptiSubscribe`.
unsafe extern "C" fn on_subscribe(
    out: *mut Subscriber,
    callback: CuptiCallback,
    data: *mut c_void,
) -> CuptiResult {
    answer(callback, |library| library.subscribe(out, callback, data))
}

/// Takes the place of `cuptiSubscribe_v2`.
unsafe extern "C" fn on_subscribe_v2(
    out: *mut Subscriber,
    callback: CuptiCallback,
    data: *mut c_void,
    params: *mut SubscriberParams,
) -> CuptiResult {
    answer(callback, |library| {
        library.subscribe_v2(out, callback, data, params)
    })
}

fn answer(
    callback: CuptiCallback,
    subscribe: impl FnOnce(&CuptiLibrary) -> Result<(), CallError>,
) -> CuptiResult {
    let Some(library) = hand_over(callback) else {
        return MULTIPLE_SUBSCRIBERS;
    };
    subscribe(library).map_or_else(|error| error.status, |()| SUCCESS)
}

/// Returns the library with its functions as they were; `None` if that cannot be had.
fn hand_over(callback: CuptiCallback) -> Option<&'static CuptiLibrary> {
    let _own = OwnWork::begin();
    // Held until CUPTI is free, for another thread that asks.
    let mut offer = OFFER.try_lock_for(LIMIT)?;
    let library = offer.library?;
    if offer.redirections.is_empty() {
        return Some(library);
    }
    for redirection in &offer.redirections {
        redirection.remove().ok()?;
    }
    offer.redirections.clear();
    // In a forked child nothing is collected.
    if let Some(subscription) = lifecycle::subscription() {
        let who = modules::file_of(callback as usize);
        let who = who.as_deref().and_then(Path::file_name);
        let who = who.map_or("this program".into(), OsStr::to_string_lossy);
        let note = note(&sanitize::quoted(&who, MAX_NAME));
        let _ = subscription.handed_over_to.set(note);
        (offer.stop_measuring)();
        collection::stop(LIMIT);
    }
    Some(library)
}

fn note(who: &str) -> String {
    format!(
        "measured until {who} asked for CUPTI, which was handed over to it; \
         GPUPROF_CUPTI=full keeps it for gpuprof"
    )
}
