//! Stand-ins for the driver functions that gpuprof calls. Each counts gpuprof's calls and fails on
//! demand. The program's own calls do not pass through them.

use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Mutex, OnceLock};

/// A requested failure: calls `nth` to `nth + times - 1` of `symbol` return `code`.
pub(crate) struct Order {
    pub(crate) symbol: String,
    pub(crate) nth: u64,
    pub(crate) times: u64,
    pub(crate) code: c_int,
}

impl Order {
    /// From `symbol:nth:times:code`.
    pub(crate) fn parse(text: &str) -> Self {
        let mut parts = text.split(':');
        let mut next = || parts.next().expect("symbol:nth:times:code");
        let symbol = next().to_owned();
        let mut number = || next().parse::<u64>().expect("a number");
        let (nth, times) = (number(), number());
        let code = c_int::try_from(number()).expect("a CUresult");
        Self {
            symbol,
            nth,
            times,
            code,
        }
    }

    /// The error of the `call`th call of `symbol`.
    fn answers(&self, symbol: &str, call: u64) -> Option<c_int> {
        let mine = self.symbol == symbol && call >= self.nth && call - self.nth < self.times;
        mine.then_some(self.code)
    }
}

static ORDERS: OnceLock<Vec<Order>> = OnceLock::new();

/// Installs the stand-ins. The simulated driver must be loaded, and no span may have had a stream
/// yet.
pub(crate) fn install(orders: Vec<Order>) {
    assert!(ORDERS.set(orders).is_ok(), "once a process");
    // SAFETY: each function below has the signature of the driver's of its name.
    let took_effect = unsafe { gpuprof::__private::replace_driver_functions(stand_in) };
    assert!(took_effect, "a span was before this");
}

/// Prints on standard error gpuprof's calls of each function, and how many of them failed on
/// request.
pub(crate) fn tell() {
    for stand_in in &STAND_INS {
        let (calls, failed) = (stand_in.calls.load(SeqCst), stand_in.failed.load(SeqCst));
        eprintln!("gpuprof called {} {calls} {failed}", stand_in.symbol);
    }
    let without = WITHOUT.lock().expect("no panic");
    without
        .iter()
        .for_each(|symbol| eprintln!("{NO_STAND_IN}{symbol}"));
}

/// Called only after popping a context has failed twice in a row. If this call failed too, nobody
/// could restore the thread's context, so it is not made to fail; a test checks that it is called.
pub(crate) const LAST_RESORT: &str = "cuCtxSetCurrent";

/// Every driver function that gpuprof calls, except [`LAST_RESORT`].
pub(crate) fn called() -> impl Iterator<Item = &'static str> {
    let symbols = STAND_INS.iter().map(|stand_in| stand_in.symbol);
    symbols.filter(|symbol| *symbol != LAST_RESORT)
}

/// Functions that gpuprof resolved and that have no stand-in.
static WITHOUT: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The prefix of the driver's functions; gpuprof also looks up a symbol of the simulator.
const OF_THE_DRIVER: &str = "cu";

/// The start of a line about a function without a stand-in.
pub(crate) const NO_STAND_IN: &str = "no stand-in for ";

struct StandIn {
    symbol: &'static str,
    calls: AtomicU64,
    failed: AtomicU64,
    real: OnceLock<usize>,
}

impl StandIn {
    const fn of(symbol: &'static str) -> Self {
        Self {
            symbol,
            calls: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            real: OnceLock::new(),
        }
    }

    /// Counts a call and returns the error with which it must fail, if any.
    fn ordered(&self) -> Option<c_int> {
        let call = self.calls.fetch_add(1, SeqCst) + 1;
        let mut orders = ORDERS.get().into_iter().flatten();
        let code = orders.find_map(|order| order.answers(self.symbol, call))?;
        self.failed.fetch_add(1, SeqCst);
        Some(code)
    }

    /// The driver's own function.
    fn real(&self) -> *const c_void {
        let address = self.real.get_or_init(|| {
            let symbol = CString::new(self.symbol).expect("a name has no NUL");
            // SAFETY: the name ends in NUL, and the driver is loaded: nothing new is.
            let driver = unsafe {
                libc::dlopen(c"libcuda.so".as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD)
            };
            assert!(!driver.is_null(), "the simulated driver is loaded");
            // SAFETY: an open library, which stays loaded.
            let address = unsafe { libc::dlsym(driver, symbol.as_ptr()) };
            assert!(!address.is_null(), "the driver has {}", self.symbol);
            address as usize
        });
        *address as *const c_void
    }
}

macro_rules! stand_ins {
    ($($name:ident($($arg:ident: $type:ty),*);)+) => {
        const COUNT: usize = [$(stringify!($name)),+].len();
        static STAND_INS: [StandIn; COUNT] = [$(StandIn::of(stringify!($name))),+];

        fn stand_in(symbol: &str) -> *const c_void {
            match symbol {
                $(stringify!($name) => functions::$name as *const c_void,)+
                _ => {
                    if symbol.starts_with(OF_THE_DRIVER) {
                        WITHOUT.lock().expect("no panic").push(symbol.to_owned());
                    }
                    std::ptr::null()
                }
            }
        }

        #[allow(non_snake_case)]
        mod functions {
            use super::*;

            $(pub(super) extern "C" fn $name($($arg: $type),*) -> c_int {
                let stand_in = STAND_INS.iter().find(|one| one.symbol == stringify!($name));
                let stand_in = stand_in.expect("it is in the list");
                if let Some(code) = stand_in.ordered() {
                    return code;
                }
                type Function = extern "C" fn($($type),*) -> c_int;
                // SAFETY: the signature of the driver's function of this name.
                let real: Function = unsafe { std::mem::transmute(stand_in.real()) };
                real($($arg),*)
            })+
        }
    };
}

type Handle = *mut c_void;

stand_ins! {
    cuCtxGetCurrent(out: *mut Handle);
    cuCtxPushCurrent_v2(context: Handle);
    cuCtxPopCurrent_v2(out: *mut Handle);
    cuCtxSetCurrent(context: Handle);
    cuCtxGetDevice(out: *mut c_int);
    cuCtxGetId(context: Handle, out: *mut u64);
    cuStreamGetCtx(stream: Handle, out: *mut Handle);
    cuStreamIsCapturing(stream: Handle, out: *mut c_int);
    cuStreamCreate(out: *mut Handle, flags: c_uint);
    cuStreamDestroy_v2(stream: Handle);
    cuEventCreate(out: *mut Handle, flags: c_uint);
    cuEventDestroy_v2(event: Handle);
    cuEventRecord(event: Handle, stream: Handle);
    cuEventQuery(event: Handle);
    cuEventElapsedTime_v2(out: *mut f32, start: Handle, end: Handle);
    cuThreadExchangeStreamCaptureMode(mode: *mut c_int);
    cuDeviceGetAttribute(out: *mut c_int, attribute: c_int, device: c_int);
    cuDeviceGetName(out: *mut c_char, len: c_int, device: c_int);
    cuDeviceGetUuid_v2(out: *mut c_void, device: c_int);
    cuDeviceTotalMem_v2(out: *mut usize, device: c_int);
    cuDriverGetVersion(out: *mut c_int);
    cuGetErrorName(status: c_int, out: *mut *const c_char);
}
