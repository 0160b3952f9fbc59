//! gpuprof's own table of CUPTI's functions, from the libcupti that it finds or the user names.
//!
//! Not through cudarc's feature `cupti`: that panics where libcupti is absent, or links it. Every failure is counted here.
//! Must not import collector, span or report.

use std::error::Error;
use std::ffi::{CStr, c_char, c_int, c_void};

use libloading::os::unix::{Library, RTLD_LAZY, RTLD_LOCAL, Symbol};
use parking_lot::Mutex;

use super::callback_ids;
use super::constants::{
    Callback, Completed, DOMAIN_DRIVER, DOMAIN_RUNTIME, MAX_LIMIT_REACHED, OLDEST_VERSION,
    Requested, SUCCESS, Status, Subscriber,
};
use super::locate::{self, Place};
use super::record::Function;
use super::unavailable::Refusal;

/// A failed call: which, and its `CUptiResult`. It is already counted when anyone sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failed {
    pub(crate) call: &'static str,
    pub(crate) status: Status,
}

/// Not a `CUptiResult`: libcupti has no such function.
const MISSING: Status = -1;

macro_rules! cupti_table {
    ($($(#[$doc:meta])* $field:ident = $symbol:literal : fn($($arg:ident: $ty:ty),*);)+) => {
        /// The functions gpuprof calls; one that libcupti lacks is `None`.
        struct Table {
            $($(#[$doc])* $field: Option<unsafe extern "C" fn($($ty),*) -> Status>,)+
        }

        impl Table {
            /// The functions, and which are missing.
            fn resolve(library: &Library) -> (Self, Vec<&'static str>) {
                let mut missing = Vec::new();
                $(
                    // SAFETY: each type below restates the CUPTI headers' declaration of the symbol of this name.
                    let $field = unsafe { find(library, $symbol) };
                    if $field.is_none() {
                        missing.push($symbol);
                    }
                )+
                (Self { $($field),+ }, missing)
            }
        }

        impl Cupti {
            $(
                pub(crate) fn $field(&self, $($arg: $ty),*) -> Result<(), Failed> {
                    let Some(function) = self.table.$field else {
                        return Err(Failed { call: $symbol, status: MISSING });
                    };
                    // SAFETY: whoever calls passes pointers to live places of these types, or null where CUPTI takes it.
                    self.check($symbol, unsafe { function($($arg),*) })
                }
            )+
        }
    };
}

cupti_table! {
    get_version = "cuptiGetVersion": fn(out: *mut u32);
    subscribe = "cuptiSubscribe": fn(out: *mut Subscriber, callback: Callback, data: *mut c_void);
    unsubscribe = "cuptiUnsubscribe": fn(subscriber: Subscriber);
    register_callbacks = "cuptiActivityRegisterCallbacks": fn(requested: Requested, completed: Completed);
    set_attribute = "cuptiActivitySetAttribute": fn(attribute: u32, bytes: *mut usize, value: *mut c_void);
    enable = "cuptiActivityEnable": fn(kind: u32);
    disable = "cuptiActivityDisable": fn(kind: u32);
    enable_callback = "cuptiEnableCallback": fn(enable: u32, subscriber: Subscriber, domain: u32, cbid: u32);
    flush_all = "cuptiActivityFlushAll": fn(flags: u32);
    next_record = "cuptiActivityGetNextRecord": fn(buffer: *mut u8, valid: usize, record: *mut *mut u8);
    num_dropped = "cuptiActivityGetNumDroppedRecords": fn(context: *mut c_void, stream: u32, out: *mut usize);
    get_timestamp = "cuptiGetTimestamp": fn(out: *mut u64);
    callback_name = "cuptiGetCallbackName": fn(domain: u32, cbid: u32, out: *mut *const c_char);
    result_string = "cuptiGetResultString": fn(status: c_int, out: *mut *const c_char);
}

/// What gpuprof can do without.
const OPTIONAL: [&str; 2] = ["cuptiActivitySetAttribute", "cuptiGetResultString"];

/// One kind of failure and how often it was met.
struct Met {
    failed: Failed,
    count: u64,
}

/// A libcupti that fits.
pub(crate) struct Cupti {
    table: Table,
    /// `cuptiGetVersion`.
    pub(crate) version: u32,
    /// The name or path it was opened by.
    pub(crate) library: String,
    met: Mutex<Vec<Met>>,
}

impl Cupti {
    /// Finds libcupti and opens it. It stays open for the rest of the process.
    pub(crate) fn open() -> Result<Self, Refusal> {
        let (library, name) = find_library()?;
        let (table, missing) = Table::resolve(&library);
        // Unloading a profiler's library is asking for trouble; nothing here ever does.
        std::mem::forget(library);
        let mut cupti = Self {
            table,
            version: 0,
            library: name,
            met: Mutex::new(Vec::new()),
        };
        if let Some(symbol) = missing.into_iter().find(|name| !OPTIONAL.contains(name)) {
            let library = cupti.library;
            return Err(Refusal::Lacks { library, symbol });
        }
        let mut version = 0;
        if let Err(failed) = cupti.get_version(&raw mut version) {
            return Err(cupti.refusal(failed));
        }
        if version < OLDEST_VERSION {
            let library = cupti.library;
            return Err(Refusal::TooOld { library, version });
        }
        cupti.version = version;
        Ok(cupti)
    }

    /// What a failed call means to the user.
    pub(crate) fn refusal(&self, failed: Failed) -> Refusal {
        Refusal::Answered {
            library: self.library.clone(),
            call: failed.call,
            status: failed.status,
            name: self.status_name(failed.status),
        }
    }

    /// The name of a function, as programs write it.
    pub(crate) fn function_name(&self, function: Function) -> String {
        let (domain, whose) = match function.runtime {
            true => (DOMAIN_RUNTIME, "runtime"),
            false => (DOMAIN_DRIVER, "driver"),
        };
        let mut name = std::ptr::null();
        let asked = self.callback_name(domain, function.cbid, &raw mut name);
        match asked.ok().and_then(|()| text(name)) {
            Some(name) => callback_ids::shown(&name).to_owned(),
            None => format!("call {} of the CUDA {whose}", function.cbid),
        }
    }

    /// For example `CUPTI_ERROR_UNKNOWN`.
    pub(crate) fn status_name(&self, status: Status) -> String {
        let mut name = std::ptr::null();
        let asked = self.result_string(status, &raw mut name);
        asked
            .ok()
            .and_then(|()| text(name))
            .unwrap_or_else(|| "CUptiResult".to_owned())
    }

    /// Every failure met so far: call, `CUptiResult`, how often.
    pub(crate) fn failures(&self) -> Vec<(Failed, u64)> {
        let met = self.met.lock();
        met.iter().map(|met| (met.failed, met.count)).collect()
    }

    fn check(&self, call: &'static str, status: Status) -> Result<(), Failed> {
        if status == SUCCESS {
            return Ok(());
        }
        let failed = Failed { call, status };
        // The end of a buffer is an answer.
        if status != MAX_LIMIT_REACHED {
            self.count(failed);
        }
        Err(failed)
    }

    #[cold]
    fn count(&self, failed: Failed) {
        // Names are asked for where something has failed already.
        if matches!(failed.call, "cuptiGetResultString" | "cuptiGetCallbackName") {
            return;
        }
        let mut met = self.met.lock();
        match met.iter_mut().find(|met| met.failed == failed) {
            Some(known) => known.count += 1,
            None => met.push(Met { failed, count: 1 }),
        }
    }

    /// Forgets what has failed: calls whose failure means nothing.
    pub(crate) fn forget_failures(&self) {
        self.met.lock().clear();
    }
}

/// # Safety
/// `F` must be a function pointer type that fits the symbol.
unsafe fn find<F: Copy>(library: &Library, name: &str) -> Option<F> {
    // SAFETY: passed on to the caller.
    let symbol: Symbol<F> = unsafe { library.get(name) }.ok()?;
    Some(*symbol)
}

/// A static text of CUPTI's.
fn text(name: *const c_char) -> Option<String> {
    if name.is_null() {
        return None;
    }
    // SAFETY: CUPTI answers static NUL-terminated strings.
    let name = unsafe { CStr::from_ptr(name) };
    Some(name.to_string_lossy().into_owned())
}

/// The first library that can be opened, and by what name.
fn find_library() -> Result<(Library, String), Refusal> {
    if let Some(path) = locate::chosen() {
        return match open(&path, false) {
            Ok(library) => Ok((library, path)),
            Err(error) => Err(Refusal::Chosen {
                path,
                // Its own text is only that it failed; the loader's is the reason.
                error: error
                    .source()
                    .map_or_else(|| error.to_string(), ToString::to_string),
            }),
        };
    }
    for Place { name, is_loaded } in locate::all() {
        if let Ok(library) = open(&name, is_loaded) {
            return Ok((library, name));
        }
    }
    Err(Refusal::NotFound)
}

fn open(name: &str, is_loaded: bool) -> Result<Library, libloading::Error> {
    let only_loaded = if is_loaded { libc::RTLD_NOLOAD } else { 0 };
    // SAFETY: libcupti's initializers are those of NVIDIA's library, made for being loaded at any time; with RTLD_NOLOAD none runs.
    unsafe { Library::open(Some(name), RTLD_LAZY | RTLD_LOCAL | only_loaded) }
}
