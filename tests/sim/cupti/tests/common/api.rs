//! CUPTI's functions, found by name in the loaded library.

use std::ffi::{CStr, c_char, c_void};
use std::sync::OnceLock;

pub(crate) type Request = extern "C" fn(*mut *mut u8, *mut usize, *mut usize);
pub(crate) type Complete = extern "C" fn(*mut c_void, u32, *mut u8, usize, usize);
pub(crate) type Called = extern "C" fn(*const c_void, u32, u32, *const u8);

/// CUPTI's functions, looked up as a profiler does.
pub(crate) struct Api {
    pub(crate) version: extern "C" fn(*mut u32) -> u32,
    pub(crate) subscribe: extern "C" fn(*mut usize, Option<Called>, *const c_void) -> u32,
    pub(crate) enable_callback: extern "C" fn(u32, usize, u32, u32) -> u32,
    pub(crate) unsubscribe: extern "C" fn(usize) -> u32,
    pub(crate) register: extern "C" fn(Request, Complete) -> u32,
    pub(crate) enable: extern "C" fn(u32) -> u32,
    pub(crate) set_attribute: extern "C" fn(u32, *mut usize, *const u8) -> u32,
    pub(crate) disable: extern "C" fn(u32) -> u32,
    pub(crate) enable_driver_api: extern "C" fn(u32, u8) -> u32,
    pub(crate) enable_runtime_api: extern "C" fn(u32, u8) -> u32,
    pub(crate) flush_all: extern "C" fn(u32) -> u32,
    pub(crate) flush_period: extern "C" fn(u32) -> u32,
    pub(crate) next: extern "C" fn(*mut u8, usize, *mut *mut u8) -> u32,
    pub(crate) dropped: extern "C" fn(usize, u32, *mut usize) -> u32,
    pub(crate) push: extern "C" fn(u32, u64) -> u32,
    pub(crate) pop: extern "C" fn(u32, *mut u64) -> u32,
    pub(crate) timestamp: extern "C" fn(*mut u64) -> u32,
    pub(crate) graph_node_id: extern "C" fn(usize, *mut u64) -> u32,
    pub(crate) callback_name: extern "C" fn(u32, u32, *mut *const c_char) -> u32,
    pub(crate) result_string: extern "C" fn(u32, *mut *const c_char) -> u32,
}

impl Api {
    /// Opens the library by its real name, which must be loaded.
    pub(crate) fn get() -> &'static Api {
        static API: OnceLock<Api> = OnceLock::new();
        API.get_or_init(|| {
            // SAFETY: the simulated library is already loaded under this name.
            let library = unsafe { libloading::Library::new("libcupti.so.13") }.unwrap();
            let library = Box::leak(Box::new(library));
            macro_rules! find {
                ($name:literal) => {{
                    // SAFETY: the type is that of the header.
                    let symbol = unsafe { library.get($name) }.unwrap();
                    *symbol
                }};
            }
            Api {
                version: find!(b"cuptiGetVersion"),
                enable_callback: find!(b"cuptiEnableCallback"),
                subscribe: find!(b"cuptiSubscribe"),
                unsubscribe: find!(b"cuptiUnsubscribe"),
                register: find!(b"cuptiActivityRegisterCallbacks"),
                enable: find!(b"cuptiActivityEnable"),
                set_attribute: find!(b"cuptiActivitySetAttribute"),
                disable: find!(b"cuptiActivityDisable"),
                enable_driver_api: find!(b"cuptiActivityEnableDriverApi"),
                enable_runtime_api: find!(b"cuptiActivityEnableRuntimeApi"),
                flush_all: find!(b"cuptiActivityFlushAll"),
                flush_period: find!(b"cuptiActivityFlushPeriod"),
                next: find!(b"cuptiActivityGetNextRecord"),
                dropped: find!(b"cuptiActivityGetNumDroppedRecords"),
                push: find!(b"cuptiActivityPushExternalCorrelationId"),
                pop: find!(b"cuptiActivityPopExternalCorrelationId"),
                timestamp: find!(b"cuptiGetTimestamp"),
                graph_node_id: find!(b"cuptiGetGraphNodeId"),
                callback_name: find!(b"cuptiGetCallbackName"),
                result_string: find!(b"cuptiGetResultString"),
            }
        })
    }

    /// Subscribes; returns the code.
    pub(crate) fn subscribe(&self) -> u32 {
        let mut subscriber = 0;
        (self.subscribe)(&mut subscriber, None, std::ptr::null())
    }

    /// The text that a function writes, or the code.
    pub(crate) fn text(call: impl FnOnce(*mut *const c_char) -> u32) -> Result<String, u32> {
        let mut text = std::ptr::null();
        match call(&mut text) {
            // SAFETY: on success it is a static NUL-terminated text.
            0 => Ok(unsafe { CStr::from_ptr(text) }.to_str().unwrap().to_owned()),
            code => Err(code),
        }
    }
}
