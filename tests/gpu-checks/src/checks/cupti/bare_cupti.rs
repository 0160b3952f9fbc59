//! CUPTI without gpuprof: what its records of activities and its callbacks cost by themselves.

use std::alloc::{Layout, alloc_zeroed};
use std::ffi::{c_int, c_void};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use libloading::os::unix::Library;

const NAMES: [&str; 3] = ["libcupti.so.13", "libcupti.so.12", "libcupti.so"];
const BUFFER_BYTES: usize = 1 << 20;
/// Buffers that are ready before the program begins.
const READY: usize = 8;
const FLUSH_PERIOD: Duration = Duration::from_millis(100);
/// `CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER`.
const ZEROED_BUFFERS: u32 = 5;
/// `CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL`, `_MEMCPY`, `_MEMCPY2` and `_MEMSET`.
const KINDS: [u32; 4] = [10, 1, 22, 2];
/// `CUPTI_CB_DOMAIN_DRIVER_API`.
const DRIVER_API: u32 = 1;
/// `cuLaunchKernel`, `cuMemcpyDtoHAsync_v2` and `cuStreamSynchronize`.
const CALLBACKS: [u32; 3] = [307, 279, 126];

/// What CUPTI is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bare {
    Records,
    Callbacks,
    Both,
}

impl Bare {
    pub(super) const ALL: [Self; 3] = [Self::Records, Self::Callbacks, Self::Both];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Records => "records",
            Self::Callbacks => "callbacks",
            Self::Both => "records and callbacks",
        }
    }
}

type Callback = extern "C" fn(*mut c_void, u32, u32, *const c_void);
type Requested = extern "C" fn(*mut *mut u8, *mut usize, *mut usize);
type Completed = extern "C" fn(*mut c_void, u32, *mut u8, usize, usize);

/// The addresses of the buffers that CUPTI does not have: ready ones, and returned ones.
static READY_BUFFERS: Mutex<Vec<usize>> = Mutex::new(Vec::new());
static RETURNED_BUFFERS: Mutex<Vec<usize>> = Mutex::new(Vec::new());

extern "C" fn on_callback(_: *mut c_void, _: u32, _: u32, _: *const c_void) {}

extern "C" fn on_requested(buffer: *mut *mut u8, size: *mut usize, max_records: *mut usize) {
    let ready = READY_BUFFERS.lock().ok().and_then(|mut all| all.pop());
    let address = ready.unwrap_or_else(allocated);
    // SAFETY: CUPTI passes a valid place.
    unsafe { buffer.write(address as *mut u8) };
    // SAFETY: as above.
    unsafe { size.write(BUFFER_BYTES) };
    // SAFETY: as above.
    unsafe { max_records.write(0) };
}

extern "C" fn on_completed(_: *mut c_void, _: u32, buffer: *mut u8, _: usize, _: usize) {
    if let Ok(mut returned) = RETURNED_BUFFERS.lock() {
        returned.push(buffer as usize);
    }
}

fn allocated() -> usize {
    let layout = Layout::from_size_align(BUFFER_BYTES, 8).expect("a valid layout");
    // SAFETY: the layout is not empty.
    unsafe { alloc_zeroed(layout) as usize }
}

/// Makes a buffer ready that nobody uses. Writing to it backs it with memory.
fn make_ready(address: usize) {
    // SAFETY: the buffer has this size, and nobody else uses it.
    unsafe { (address as *mut u8).write_bytes(0, BUFFER_BYTES) };
    if let Ok(mut ready) = READY_BUFFERS.lock() {
        ready.push(address);
    }
}

/// A function of CUPTI.
///
/// # Safety
/// `F` must be its type.
unsafe fn function<F: Copy>(library: &Library, name: &str) -> Result<F, String> {
    // SAFETY: the caller guarantees the type.
    let found = unsafe { library.get::<F>(name) };
    found
        .map(|function| *function)
        .map_err(|error| error.to_string())
}

fn checked(call: &str, status: c_int) -> Result<(), String> {
    match status {
        0 => Ok(()),
        status => Err(format!("{call} returned {status}")),
    }
}

/// Asks CUPTI for `what`, for the rest of the process, and drops all that it reports.
pub(super) fn start(what: Bare) -> Result<(), String> {
    // SAFETY: loading CUPTI runs its initialisers, which are meant for that.
    let libraries = NAMES.map(|name| unsafe { Library::new(name) });
    let library = libraries.into_iter().find_map(Result::ok);
    let library: &'static Library = Box::leak(Box::new(library.ok_or("there is no libcupti")?));
    type Subscribe = unsafe extern "C" fn(*mut *mut c_void, Callback, *mut c_void) -> c_int;
    // SAFETY: the type is the declaration's.
    let subscribe: Subscribe = unsafe { function(library, "cuptiSubscribe") }?;
    let mut subscriber = std::ptr::null_mut();
    // SAFETY: the place is writable, and the callback lives as long as the process.
    let status = unsafe { subscribe(&raw mut subscriber, on_callback, std::ptr::null_mut()) };
    checked("cuptiSubscribe", status)?;
    if what != Bare::Records {
        type Enable = unsafe extern "C" fn(u32, *mut c_void, u32, u32) -> c_int;
        // SAFETY: the type is the declaration's.
        let enable: Enable = unsafe { function(library, "cuptiEnableCallback") }?;
        for id in CALLBACKS {
            // SAFETY: the subscriber is valid.
            let status = unsafe { enable(1, subscriber, DRIVER_API, id) };
            checked("cuptiEnableCallback", status)?;
        }
    }
    match what {
        Bare::Callbacks => Ok(()),
        Bare::Records | Bare::Both => start_records(library),
    }
}

fn start_records(library: &'static Library) -> Result<(), String> {
    (0..READY).for_each(|_| make_ready(allocated()));
    type SetAttribute = unsafe extern "C" fn(u32, *mut usize, *mut c_void) -> c_int;
    type Register = unsafe extern "C" fn(Requested, Completed) -> c_int;
    type Enable = unsafe extern "C" fn(u32) -> c_int;
    // SAFETY: the type is the declaration's.
    let set: SetAttribute = unsafe { function(library, "cuptiActivitySetAttribute") }?;
    let (mut bytes, mut yes) = (size_of::<u8>(), 1_u8);
    // SAFETY: both places live during the call.
    let status = unsafe { set(ZEROED_BUFFERS, &raw mut bytes, (&raw mut yes).cast()) };
    checked("cuptiActivitySetAttribute", status)?;
    // SAFETY: the type is the declaration's.
    let register: Register = unsafe { function(library, "cuptiActivityRegisterCallbacks") }?;
    // SAFETY: both functions live as long as the process.
    let status = unsafe { register(on_requested, on_completed) };
    checked("cuptiActivityRegisterCallbacks", status)?;
    // SAFETY: the type is the declaration's.
    let enable: Enable = unsafe { function(library, "cuptiActivityEnable") }?;
    for kind in KINDS {
        // SAFETY: any number may be passed.
        checked("cuptiActivityEnable", unsafe { enable(kind) })?;
    }
    // SAFETY: the type is the declaration's.
    let flush: Enable = unsafe { function(library, "cuptiActivityFlushAll") }?;
    thread::spawn(move || {
        loop {
            thread::sleep(FLUSH_PERIOD);
            // SAFETY: any flags may be passed.
            let _ = unsafe { flush(0) };
            let returned = RETURNED_BUFFERS
                .lock()
                .map(|mut all| std::mem::take(&mut *all));
            returned
                .unwrap_or_default()
                .into_iter()
                .for_each(make_ready);
        }
    });
    Ok(())
}
