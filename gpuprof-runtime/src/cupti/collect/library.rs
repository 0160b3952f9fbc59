//! The functions of CUPTI that gpuprof calls, from the libcupti that it finds or the user names.
//!
//! cudarc's feature `cupti` is not used: it panics if libcupti is absent, or links it. Failed calls
//! are counted here; missing functions and failed name lookups are not.

use std::error::Error;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::ManuallyDrop;
use std::path::PathBuf;

use gpuprof_report::libcupti_paths::{self, LibraryCandidate};
use libloading::os::unix::{Library, RTLD_LAZY, RTLD_LOCAL, Symbol};
use parking_lot::Mutex;

use super::bindings::{
    BufferCompleted, BufferRequested, CuptiCallback, CuptiResult, DOMAIN_DRIVER, DOMAIN_RUNTIME,
    GraphNode, MAX_LIMIT_REACHED, MIN_SUBSCRIBER_CALLS_VERSION, MIN_VERSION, OwnBufferCompleted,
    OwnBufferRequested, SUCCESS, Subscriber, SubscriberParams,
};
use super::callback_ids;
use super::own_subscription::OwnSubscription;
use super::record::ApiFunction;
use super::unavailable_reason::CuptiUnavailable;
use crate::os::modules;

/// A failed call and its `CUptiResult`, or [`MISSING`]. If it counts as a failure, the library has
/// already counted it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallError {
    pub(crate) call: &'static str,
    pub(crate) status: CuptiResult,
}

/// Not a `CUptiResult`: the function is missing from libcupti.
const MISSING: CuptiResult = -1;

macro_rules! cupti_functions {
    ($($field:ident = $symbol:literal : fn($($arg:ident: $ty:ty),* $(,)?);)+) => {
        /// One pointer per function; `None` if libcupti lacks it.
        struct CuptiFunctions {
            $($field: Option<unsafe extern "C" fn($($ty),*) -> CuptiResult>,)+
        }

        impl CuptiFunctions {
            /// The functions, and the names of the missing ones.
            fn load(library: &Library) -> (Self, Vec<&'static str>) {
                let mut missing = Vec::new();
                $(
                    // SAFETY: each type below restates the declaration in the CUPTI headers.
                    let $field = unsafe { load_symbol(library, $symbol) };
                    if $field.is_none() {
                        missing.push($symbol);
                    }
                )+
                (Self { $($field),+ }, missing)
            }
        }

        impl CuptiLibrary {
            $(
                pub(super) fn $field(&self, $($arg: $ty),*) -> Result<(), CallError> {
                    let Some(function) = self.functions.$field else {
                        return Err(CallError { call: $symbol, status: MISSING });
                    };
                    // SAFETY: the caller passes pointers to live values of these types, or null
                    // where CUPTI accepts it.
                    self.check($symbol, unsafe { function($($arg),*) })
                }
            )+
        }
    };
}

cupti_functions! {
    get_version = "cuptiGetVersion": fn(out: *mut u32);
    subscribe = "cuptiSubscribe": fn(
        out: *mut Subscriber, callback: CuptiCallback, data: *mut c_void,
    );
    subscribe_v2 = "cuptiSubscribe_v2": fn(
        out: *mut Subscriber, callback: CuptiCallback, data: *mut c_void,
        params: *mut SubscriberParams,
    );
    unsubscribe = "cuptiUnsubscribe": fn(subscriber: Subscriber);
    register_callbacks = "cuptiActivityRegisterCallbacks": fn(
        requested: BufferRequested, completed: BufferCompleted,
    );
    set_attribute = "cuptiActivitySetAttribute": fn(
        attribute: u32, bytes: *mut usize, value: *mut c_void,
    );
    activity_enable = "cuptiActivityEnable": fn(kind: u32);
    activity_disable = "cuptiActivityDisable": fn(kind: u32);
    enable_callback = "cuptiEnableCallback": fn(
        enable: u32, subscriber: Subscriber, domain: u32, cbid: u32,
    );
    flush_all = "cuptiActivityFlushAll": fn(flags: u32);
    get_next_record = "cuptiActivityGetNextRecord": fn(
        buffer: *mut u8, valid: usize, record: *mut *mut u8,
    );
    num_dropped = "cuptiActivityGetNumDroppedRecords": fn(
        context: *mut c_void, stream: u32, out: *mut usize,
    );
    get_timestamp = "cuptiGetTimestamp": fn(out: *mut u64);
    register_callbacks_v2 = "cuptiActivityRegisterCallbacks_v2": fn(
        subscriber: Subscriber, requested: OwnBufferRequested, completed: OwnBufferCompleted,
    );
    set_attribute_v2 = "cuptiActivitySetAttribute_v2": fn(
        subscriber: Subscriber, attribute: u32, bytes: *mut usize, value: *mut c_void,
    );
    get_attribute_v2 = "cuptiActivityGetAttribute_v2": fn(
        subscriber: Subscriber, attribute: u32, bytes: *mut usize, value: *mut c_void,
    );
    activity_enable_v2 = "cuptiActivityEnable_v2": fn(
        subscriber: Subscriber, kind: u32, configuration: *mut c_void,
    );
    activity_disable_v2 = "cuptiActivityDisable_v2": fn(
        subscriber: Subscriber, kind: u32, configuration: *mut c_void,
    );
    get_next_record_v2 = "cuptiActivityGetNextRecord_v2": fn(
        subscriber: Subscriber, buffer: *mut u8, valid: usize, record: *mut *mut u8,
    );
    num_dropped_v2 = "cuptiActivityGetNumDroppedRecords_v2": fn(
        subscriber: Subscriber, context: *mut c_void, stream: u32, out: *mut usize,
    );
    get_timestamp_v2 = "cuptiGetTimestamp_v2": fn(subscriber: Subscriber, out: *mut u64);
    graph_node_id = "cuptiGetGraphNodeId": fn(node: GraphNode, out: *mut u64);
    callback_name = "cuptiGetCallbackName": fn(
        domain: u32, cbid: u32, out: *mut *const c_char,
    );
    result_string = "cuptiGetResultString": fn(status: c_int, out: *mut *const c_char);
}

/// The calls of a subscriber, which a library has all together.
const SUBSCRIBER_CALLS: [&str; 9] = [
    "cuptiSubscribe_v2",
    "cuptiActivityRegisterCallbacks_v2",
    "cuptiActivitySetAttribute_v2",
    "cuptiActivityGetAttribute_v2",
    "cuptiActivityEnable_v2",
    "cuptiActivityDisable_v2",
    "cuptiActivityGetNextRecord_v2",
    "cuptiActivityGetNumDroppedRecords_v2",
    "cuptiGetTimestamp_v2",
];

struct FailureCount {
    error: CallError,
    count: u64,
}

/// An open libcupti of a supported version.
pub(crate) struct CuptiLibrary {
    /// Never unloaded: CUPTI starts threads and registers exit handlers of its own.
    library: ManuallyDrop<Library>,
    functions: CuptiFunctions,
    /// `cuptiGetVersion`.
    pub(crate) version: u32,
    /// The name or path that opened it.
    pub(crate) name: String,
    /// Whether it has the calls of a subscriber.
    pub(super) has_subscriber_calls: bool,
    pub(super) own: OwnSubscription,
    failures: Mutex<Vec<FailureCount>>,
}

impl CuptiLibrary {
    /// Finds and opens libcupti. It stays open for the rest of the process.
    pub(crate) fn open() -> Result<Self, CuptiUnavailable> {
        let (library, name) = find_library()?;
        let (functions, missing) = CuptiFunctions::load(&library);
        let mut cupti = Self {
            library: ManuallyDrop::new(library),
            functions,
            version: 0,
            name,
            has_subscriber_calls: false,
            own: OwnSubscription::default(),
            failures: Mutex::new(Vec::new()),
        };
        let is_needed = |name: &&str| !SUBSCRIBER_CALLS.contains(name);
        if let Some(symbol) = missing.iter().copied().find(is_needed) {
            let library = cupti.name;
            return Err(CuptiUnavailable::MissingFunction { library, symbol });
        }
        let mut version = 0;
        if let Err(error) = cupti.get_version(&raw mut version) {
            return Err(cupti.unavailable(error));
        }
        if version < MIN_VERSION {
            let library = cupti.name;
            return Err(CuptiUnavailable::TooOld { library, version });
        }
        cupti.version = version;
        cupti.has_subscriber_calls = version >= MIN_SUBSCRIBER_CALLS_VERSION
            && !SUBSCRIBER_CALLS.iter().any(|call| missing.contains(call));
        Ok(cupti)
    }

    /// A function that not every version has.
    ///
    /// # Safety
    /// `F` must be a function pointer type that fits the symbol.
    pub(crate) unsafe fn symbol<F: Copy>(&self, name: &str) -> Option<F> {
        // SAFETY: the caller upholds the contract.
        unsafe { load_symbol(&self.library, name) }
    }

    /// The folder that it was loaded from.
    pub(crate) fn folder(&self) -> Option<PathBuf> {
        let path = modules::file_of(self.address()?)?;
        // A symlink may be in another folder than what it points to.
        Some(path.canonicalize().ok()?.parent()?.to_owned())
    }

    /// The address of one of its functions.
    pub(crate) fn address(&self) -> Option<usize> {
        Some(self.functions.get_version? as usize)
    }

    /// Whether a subscriber that uses the calls of the process can give its name. Since CUDA 13.3
    /// `cuptiSubscribe_v2` is for the calls of a subscriber alone.
    pub(super) fn takes_names(&self) -> bool {
        self.functions.subscribe_v2.is_some() && self.version < MIN_SUBSCRIBER_CALLS_VERSION
    }

    /// `cuptiSubscribe` and `cuptiSubscribe_v2`.
    #[cfg(feature = "inject")]
    pub(crate) fn subscribe_functions(&self) -> [Option<*const c_void>; 2] {
        let functions = &self.functions;
        [
            functions
                .subscribe
                .map(|function| function as *const c_void),
            functions
                .subscribe_v2
                .map(|function| function as *const c_void),
        ]
    }

    /// A failed call as the reason why CUPTI is unavailable.
    pub(crate) fn unavailable(&self, error: CallError) -> CuptiUnavailable {
        self.refused(error, String::new())
    }

    /// [`unavailable`](Self::unavailable), and who has it; empty if that is unknown.
    pub(super) fn refused(&self, error: CallError, holder: String) -> CuptiUnavailable {
        CuptiUnavailable::CallFailed {
            holder,
            library: self.name.clone(),
            call: error.call,
            status: error.status,
            name: self.status_name(error.status),
        }
    }

    /// The name of a CUDA function as programs write it.
    pub(crate) fn function_name(&self, function: ApiFunction) -> String {
        let (domain, api) = if function.is_runtime {
            (DOMAIN_RUNTIME, "runtime")
        } else {
            (DOMAIN_DRIVER, "driver")
        };
        let mut name = std::ptr::null();
        let result = self.callback_name(domain, function.cbid, &raw mut name);
        match result.ok().and_then(|()| static_text(name)) {
            Some(name) => callback_ids::plain_name(&name).to_owned(),
            None => format!("call {} of the CUDA {api}", function.cbid),
        }
    }

    /// For example `CUPTI_ERROR_UNKNOWN`.
    pub(crate) fn status_name(&self, status: CuptiResult) -> String {
        let mut name = std::ptr::null();
        let result = self.result_string(status, &raw mut name);
        result
            .ok()
            .and_then(|()| static_text(name))
            .unwrap_or_else(|| "CUptiResult".to_owned())
    }

    /// Every kind of failure so far, and how often it occurred.
    pub(crate) fn failures(&self) -> Vec<(CallError, u64)> {
        let failures = self.failures.lock();
        failures
            .iter()
            .map(|failure| (failure.error, failure.count))
            .collect()
    }

    fn check(&self, call: &'static str, status: CuptiResult) -> Result<(), CallError> {
        if status == SUCCESS {
            return Ok(());
        }
        let error = CallError { call, status };
        // The end of a buffer is no failure.
        if status != MAX_LIMIT_REACHED {
            self.count_failure(error);
        }
        Err(error)
    }

    #[cold]
    fn count_failure(&self, error: CallError) {
        // Failed name lookups are not counted: names are needed only for display or after a failure
        // already counted. Nor are refused subscriptions, which are the program's own or reported
        // by the start. Nor are callbacks and attributes: a version may lack newer ones. A kind of
        // activity that is refused is reported where it is enabled.
        if matches!(
            error.call,
            "cuptiSubscribe"
                | "cuptiSubscribe_v2"
                | "cuptiGetResultString"
                | "cuptiGetCallbackName"
                | "cuptiEnableCallback"
                | "cuptiActivityEnable"
                | "cuptiActivityEnable_v2"
                | "cuptiActivityGetAttribute_v2"
        ) {
            return;
        }
        let mut failures = self.failures.lock();
        match failures.iter_mut().find(|known| known.error == error) {
            Some(known) => known.count += 1,
            None => failures.push(FailureCount { error, count: 1 }),
        }
    }

    /// Clears the failure counts; called after optional CUPTI calls that are allowed to fail.
    pub(crate) fn clear_failure_counts(&self) {
        self.failures.lock().clear();
    }
}

/// # Safety
/// `F` must be a function pointer type that fits the symbol.
unsafe fn load_symbol<F: Copy>(library: &Library, name: &str) -> Option<F> {
    // SAFETY: the caller upholds the contract.
    let symbol: Symbol<F> = unsafe { library.get(name) }.ok()?;
    Some(*symbol)
}

/// The text that a CUPTI function returned.
fn static_text(name: *const c_char) -> Option<String> {
    if name.is_null() {
        return None;
    }
    // SAFETY: CUPTI returns static NUL-terminated strings.
    let name = unsafe { CStr::from_ptr(name) };
    Some(name.to_string_lossy().into_owned())
}

/// The first library that can be opened, and its name or path.
fn find_library() -> Result<(Library, String), CuptiUnavailable> {
    if let Some(path) = libcupti_paths::user_choice() {
        return match open(&path, false) {
            Ok(library) => Ok((library, path)),
            Err(error) => Err(CuptiUnavailable::CannotOpen {
                path,
                // The error itself only says that `dlopen` failed; its source has the reason.
                error: error
                    .source()
                    .map_or_else(|| error.to_string(), ToString::to_string),
            }),
        };
    }
    for LibraryCandidate {
        name,
        only_if_loaded,
    } in libcupti_paths::candidates()
    {
        if let Ok(library) = open(&name, only_if_loaded) {
            return Ok((library, name));
        }
    }
    Err(CuptiUnavailable::NotFound)
}

fn open(name: &str, only_if_loaded: bool) -> Result<Library, libloading::Error> {
    let no_load = if only_if_loaded { libc::RTLD_NOLOAD } else { 0 };
    // SAFETY: libcupti may be loaded at any time, so its initializers are safe to run; with
    // RTLD_NOLOAD none runs.
    unsafe { Library::open(Some(name), RTLD_LAZY | RTLD_LOCAL | no_load) }
}
