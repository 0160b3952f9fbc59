//! CUPTI in this process: started once, where a window asks for it, and then kept running or refused for good.
//!
//! Must not import span or report.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::Thread;
use std::time::{Duration, Instant};

use super::callback_ids::{self, DRIVER_LAUNCH, RUNTIME_LAUNCH};
use super::constants::{ATTR_ZEROED_BUFFERS, DOMAIN_DRIVER, DOMAIN_RUNTIME, Subscriber, kind};
use super::library::{Cupti, Failed};
use super::names::Names;
use super::reader::{Reader, Requests, Sink, Tally};
use super::record::Function;
use super::unavailable::Refusal;
use super::{api_callbacks, buffers};
use crate::cupti::Counts;
use crate::os;

/// What is recorded.
const KINDS: [u32; 4] = [
    kind::CONCURRENT_KERNEL,
    kind::MEMCPY,
    kind::MEMCPY2,
    kind::MEMSET,
];

static STATE: OnceLock<Result<Running, Refusal>> = OnceLock::new();
/// It runs, and this is not a forked child.
static ON: AtomicBool = AtomicBool::new(false);
/// The last read has begun: libcupti may be shutting down, and nothing but that read calls it any more.
static IS_LEFT: AtomicBool = AtomicBool::new(false);
static REQUESTS: OnceLock<Requests> = OnceLock::new();
static TALLY: OnceLock<Tally> = OnceLock::new();

struct Running {
    cupti: &'static Cupti,
    reader: Thread,
}

/// Starts CUPTI, once per process, and returns whether this call did. If it fails, [`notes`] says why.
pub(crate) fn start(sink: Box<dyn Sink>, look: fn()) -> bool {
    let mut has_started = false;
    STATE.get_or_init(|| {
        let running = begin(sink, look)?;
        stop_in_children();
        ON.store(true, Relaxed);
        has_started = true;
        Ok(running)
    });
    has_started
}

fn running() -> Option<&'static Running> {
    match STATE.get() {
        Some(Ok(running)) if ON.load(Relaxed) => Some(running),
        _ => None,
    }
}

/// The same while libcupti may be called by whoever wants to.
fn callable() -> Option<&'static Running> {
    running().filter(|_| !IS_LEFT.load(Relaxed))
}

/// Whether records are coming in.
#[inline]
pub(crate) fn is_running() -> bool {
    ON.load(Relaxed)
}

/// The time of CUPTI's clock, ns.
pub(crate) fn now() -> Option<u64> {
    let mut now = 0;
    let asked = callable()?.cupti.get_timestamp(&raw mut now);
    asked.ok().map(|()| now)
}

/// Has the reader come round before its time.
pub(crate) fn wake() {
    if let Some(running) = running() {
        running.reader.unpark();
    }
}

/// Waits until all that CUPTI has ready was handed to the sink, at most `limit`; returns whether it was. Waits for no GPU
/// work.
pub(crate) fn drain(limit: Duration) -> bool {
    running().is_none_or(|running| {
        let requests = REQUESTS.get_or_init(Requests::default);
        requests.drain(&running.reader, limit, false)
    })
}

/// The same at the end of the process: after it nothing is read any more, and no thread calls CUPTI for the call that it
/// is in, so that nothing of gpuprof's meets a library that is shutting down.
pub(crate) fn drain_last(limit: Duration) {
    if let Some(running) = running() {
        IS_LEFT.store(true, Relaxed);
        let requests = REQUESTS.get_or_init(Requests::default);
        requests.drain(&running.reader, limit, true);
    }
}

/// What came since the process began; `None` where it does not run.
pub(crate) fn counts() -> Option<Counts> {
    let running = running()?;
    let tally = TALLY.get_or_init(Tally::default);
    Some(Counts {
        version: running.cupti.version,
        library: running.cupti.library.clone(),
        records: tally.records.load(Relaxed),
        dropped: tally.dropped.load(Relaxed),
        invalid: tally.invalid.load(Relaxed),
    })
}

/// Why it does not run, or what has failed since: one line each.
pub(crate) fn notes() -> Vec<String> {
    if let Some(Err(refusal)) = STATE.get() {
        return vec![refusal.to_string()];
    }
    let Some(Running { cupti, .. }) = running() else {
        return Vec::new();
    };
    let failures = cupti.failures().into_iter();
    let told = failures.map(|(Failed { call, status }, count)| {
        let name = cupti.status_name(status);
        format!(
            "{call} failed {count}x with {status} ({name}): kernels may be missing, or stand under the wrong function"
        )
    });
    told.collect()
}

/// The name of a CUDA function.
pub(crate) fn function_name(function: Function) -> Option<String> {
    Some(running()?.cupti.function_name(function))
}

fn begin(sink: Box<dyn Sink>, look: fn()) -> Result<Running, Refusal> {
    let cupti: &'static Cupti = Box::leak(Box::new(Cupti::open()?));
    let pool = buffers::pool();
    let mut subscriber = std::ptr::null_mut();
    // First of all: it is refused where another tool is at work, which the calls below would disturb.
    let subscribed = cupti.subscribe(
        &raw mut subscriber,
        api_callbacks::called,
        std::ptr::null_mut(),
    );
    subscribed.map_err(|failed| cupti.refusal(failed))?;
    let step_back = |kinds: &[u32]| {
        for kind in kinds {
            let _ = cupti.disable(*kind);
        }
        let _ = cupti.unsubscribe(subscriber);
    };
    let mut enabled = 0;
    let listening = listen(cupti, subscriber);
    if let Err(failed) = listening.and_then(|()| enable(cupti, &mut enabled)) {
        step_back(KINDS.get(..enabled).unwrap_or_default());
        return Err(cupti.refusal(failed));
    }
    let reader = Reader {
        cupti,
        requests: REQUESTS.get_or_init(Requests::default),
        tally: TALLY.get_or_init(Tally::default),
        sink,
        names: Names::default(),
        look,
        looked: None,
        read: Instant::now(),
        flushed: Instant::now(),
    };
    let Ok(thread) = os::thread::spawn("gpuprof-cupti", move || reader.run()) else {
        step_back(&KINDS);
        return Err(Refusal::NoThread);
    };
    let reader = thread.thread().clone();
    pool.set_reader(reader.clone());
    Ok(Running { cupti, reader })
}

/// Enables every kind, and counts them as it goes.
fn enable(cupti: &Cupti, enabled: &mut usize) -> Result<(), Failed> {
    // Else CUPTI zeroes each buffer inside the call that needs it: 0.5 ms of the program's thread on an H200's machine. Where it
    // cannot be asked it does so.
    let (mut bytes, mut yes) = (size_of::<u8>(), 1_u8);
    let _ = cupti.set_attribute(ATTR_ZEROED_BUFFERS, &raw mut bytes, (&raw mut yes).cast());
    cupti.forget_failures();
    cupti.register_callbacks(buffers::requested, buffers::completed)?;
    for kind in KINDS {
        cupti.enable(kind)?;
        *enabled += 1;
    }
    Ok(())
}

/// Has the calls that are to be recorded come to [`callbacks`].
fn listen(cupti: &Cupti, subscriber: Subscriber) -> Result<(), Failed> {
    for (runtime, domain, launch) in [
        (false, DOMAIN_DRIVER, DRIVER_LAUNCH),
        (true, DOMAIN_RUNTIME, RUNTIME_LAUNCH),
    ] {
        for cbid in callback_ids::recorded(runtime) {
            let done = cupti.enable_callback(1, subscriber, domain, cbid);
            // Each version knows its own calls; launches are known to all.
            if cbid == launch {
                done?;
            }
        }
    }
    cupti.forget_failures();
    Ok(())
}

/// A forked child has no reader, and must not call a library whose locks other threads may have held.
fn stop_in_children() {
    // SAFETY: the handler stores one atomic, and lives as long as the program.
    unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
}

unsafe extern "C" fn in_child() {
    ON.store(false, Relaxed);
}
