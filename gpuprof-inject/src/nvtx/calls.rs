//! What a program calls. Functions without a domain are those of the default domain.
//!
//! They are called with the program's arguments, whose requirements are those of NVTX's
//! documentation. The results are those that NVTX has without a tool.

use std::ffi::{c_char, c_int};
use std::panic;
use std::ptr::null_mut;

use gpuprof_runtime::injection::{self, Domain, RangeSite};

use super::abi::{self, EventAttributes, Handle, WideChar};
use super::{handles, text};

/// `NVTX_NO_PUSH_POP_TRACKING`: the result of push and pop without a depth.
const UNTRACKED: c_int = -2;

/// Runs `call` for the domain if its ranges are measured. No panic reaches the program.
fn in_domain<T>(handle: Handle, call: impl FnOnce(&'static Domain) -> T) -> Option<T> {
    let call = || {
        let domain = injection::measures().then(|| handles::domain(handle));
        domain.flatten().map(call)
    };
    // What a panic leaves is behind locks without poison, or is this thread's.
    panic::catch_unwind(panic::AssertUnwindSafe(call))
        .ok()
        .flatten()
}

/// Pushes a range with this row. Texts are copied for it: an allocator of the program's must not
/// come back.
fn push(handle: Handle, row: impl FnOnce(&Domain) -> RangeSite) -> c_int {
    in_domain(handle, |domain| {
        if let Some(row) = injection::in_own_work(|| row(domain)) {
            injection::push(domain, row);
        }
    });
    UNTRACKED
}

/// Starts a range with this row. Gives its number; 0 if it is not measured.
fn start(handle: Handle, row: impl FnOnce(&Domain) -> RangeSite) -> u64 {
    let started = in_domain(handle, |domain| {
        let row = injection::in_own_work(|| row(domain));
        row.map_or(0, injection::start_range)
    });
    started.unwrap_or(0)
}

/// The row of a range by its attributes.
///
/// # Safety
/// `attributes` must be null or valid, with a message that fits its type.
unsafe fn row(
    domain: &Domain,
    attributes: *const EventAttributes,
    by_text: fn(&Domain, &str) -> RangeSite,
    by_handle: fn(&handles::RegisteredString, &Domain) -> RangeSite,
) -> RangeSite {
    // SAFETY: null or valid, as the caller promises.
    let Some(attributes) = (unsafe { attributes.as_ref() }) else {
        return by_text(domain, "");
    };
    match attributes.message_type {
        abi::MESSAGE_ASCII => {
            // SAFETY: the type selects this field.
            let message = unsafe { attributes.message.ascii };
            // SAFETY: a C string, as the caller promises.
            by_text(domain, &unsafe { text::narrow(message) })
        }
        abi::MESSAGE_UNICODE => {
            // SAFETY: the type selects this field.
            let message = unsafe { attributes.message.unicode };
            // SAFETY: a wide C string, as the caller promises.
            by_text(domain, &unsafe { text::wide(message) })
        }
        abi::MESSAGE_REGISTERED => {
            // SAFETY: the type selects this field.
            let handle = unsafe { attributes.message.registered };
            match handles::string(handle) {
                Some(string) => by_handle(string, domain),
                None => by_text(domain, ""),
            }
        }
        _ => by_text(domain, ""),
    }
}

pub(super) unsafe extern "C" fn domain_push_ex(
    domain: Handle,
    attributes: *const EventAttributes,
) -> c_int {
    let by_handle = handles::RegisteredString::pushed;
    // SAFETY: NVTX passes on the program's attributes.
    push(domain, |domain| unsafe {
        row(domain, attributes, Domain::pushed, by_handle)
    })
}

pub(super) unsafe extern "C" fn domain_pop(domain: Handle) -> c_int {
    in_domain(domain, injection::pop);
    UNTRACKED
}

pub(super) unsafe extern "C" fn domain_start_ex(
    domain: Handle,
    attributes: *const EventAttributes,
) -> u64 {
    let by_handle = handles::RegisteredString::started;
    // SAFETY: NVTX passes on the program's attributes.
    start(domain, |domain| unsafe {
        row(domain, attributes, Domain::started, by_handle)
    })
}

pub(super) unsafe extern "C" fn domain_end(domain: Handle, range: u64) {
    in_domain(domain, |_| injection::end(range));
}

pub(super) unsafe extern "C" fn push_ex(attributes: *const EventAttributes) -> c_int {
    // SAFETY: the caller's promise is passed on.
    unsafe { domain_push_ex(null_mut(), attributes) }
}

pub(super) unsafe extern "C" fn push_a(message: *const c_char) -> c_int {
    push(null_mut(), |domain| {
        // SAFETY: NVTX passes on the program's string.
        domain.pushed(&unsafe { text::narrow(message) })
    })
}

pub(super) unsafe extern "C" fn push_w(message: *const WideChar) -> c_int {
    push(null_mut(), |domain| {
        // SAFETY: NVTX passes on the program's string.
        domain.pushed(&unsafe { text::wide(message) })
    })
}

pub(super) unsafe extern "C" fn pop() -> c_int {
    // SAFETY: null is the default domain.
    unsafe { domain_pop(null_mut()) }
}

pub(super) unsafe extern "C" fn start_ex(attributes: *const EventAttributes) -> u64 {
    // SAFETY: the caller's promise is passed on.
    unsafe { domain_start_ex(null_mut(), attributes) }
}

pub(super) unsafe extern "C" fn start_a(message: *const c_char) -> u64 {
    start(null_mut(), |domain| {
        // SAFETY: NVTX passes on the program's string.
        domain.started(&unsafe { text::narrow(message) })
    })
}

pub(super) unsafe extern "C" fn start_w(message: *const WideChar) -> u64 {
    start(null_mut(), |domain| {
        // SAFETY: NVTX passes on the program's string.
        domain.started(&unsafe { text::wide(message) })
    })
}

pub(super) unsafe extern "C" fn end(range: u64) {
    // SAFETY: null is the default domain.
    unsafe { domain_end(null_mut(), range) }
}

pub(super) unsafe extern "C" fn register_string_a(domain: Handle, string: *const c_char) -> Handle {
    // SAFETY: NVTX passes on the program's string.
    register(domain, || unsafe { text::narrow(string) }.into_owned())
}

pub(super) unsafe extern "C" fn register_string_w(
    domain: Handle,
    string: *const WideChar,
) -> Handle {
    // SAFETY: NVTX passes on the program's string.
    register(domain, || unsafe { text::wide(string) })
}

pub(super) unsafe extern "C" fn domain_create_a(name: *const c_char) -> Handle {
    // SAFETY: NVTX passes on the program's string.
    create(|| unsafe { text::narrow(name) }.into_owned())
}

pub(super) unsafe extern "C" fn domain_create_w(name: *const WideChar) -> Handle {
    // SAFETY: NVTX passes on the program's string.
    create(|| unsafe { text::wide(name) })
}

/// Also before anything is measured: the handles stay.
fn register(domain: Handle, string: impl FnOnce() -> String) -> Handle {
    handle(|| handles::register(domain, string()))
}

fn create(name: impl FnOnce() -> String) -> Handle {
    handle(|| handles::domain_handle(&name()))
}

fn handle(make: impl FnOnce() -> Handle) -> Handle {
    let make = panic::AssertUnwindSafe(|| injection::in_own_work(make));
    panic::catch_unwind(make)
        .ok()
        .flatten()
        .unwrap_or(null_mut())
}
