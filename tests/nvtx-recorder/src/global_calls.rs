//! The functions of NVTX's module CORE: calls in the default domain. They also take plain strings,
//! and produce the same records as [`crate::domain_calls`].

use std::ffi::{c_char, c_int};
use std::ptr::null_mut;

use crate::abi::{EventAttributes, WideChar};
use crate::call::{Call, Op};
use crate::{domain_calls, handles, log};

/// A call of `op` in the default domain whose message is `name`.
fn named(op: Op, name: Option<String>) -> Call {
    let mut call = log::begin(op, null_mut());
    call.name = name;
    call
}

pub(crate) unsafe extern "C" fn mark_ex(attributes: *const EventAttributes) {
    // SAFETY: the caller's guarantee is passed on.
    unsafe { domain_calls::mark_ex(null_mut(), attributes) }
}

pub(crate) unsafe extern "C" fn mark_a(message: *const c_char) {
    // SAFETY: NVTX passes on the program's valid string.
    log::write(&named(Op::Mark, unsafe { handles::narrow(message) }));
}

pub(crate) unsafe extern "C" fn mark_w(message: *const WideChar) {
    // SAFETY: NVTX passes on the program's valid string.
    log::write(&named(Op::Mark, unsafe { handles::wide(message) }));
}

pub(crate) unsafe extern "C" fn range_start_ex(attributes: *const EventAttributes) -> u64 {
    // SAFETY: the same promise, passed on.
    unsafe { domain_calls::range_start_ex(null_mut(), attributes) }
}

pub(crate) unsafe extern "C" fn range_start_a(message: *const c_char) -> u64 {
    // SAFETY: NVTX passes on the program's valid string.
    domain_calls::start(named(Op::Start, unsafe { handles::narrow(message) }))
}

pub(crate) unsafe extern "C" fn range_start_w(message: *const WideChar) -> u64 {
    // SAFETY: NVTX passes on the program's valid string.
    domain_calls::start(named(Op::Start, unsafe { handles::wide(message) }))
}

pub(crate) unsafe extern "C" fn range_end(id: u64) {
    // SAFETY: no pointer is dereferenced.
    unsafe { domain_calls::range_end(null_mut(), id) }
}

pub(crate) unsafe extern "C" fn range_push_ex(attributes: *const EventAttributes) -> c_int {
    // SAFETY: the same promise, passed on.
    unsafe { domain_calls::range_push_ex(null_mut(), attributes) }
}

pub(crate) unsafe extern "C" fn range_push_a(message: *const c_char) -> c_int {
    // SAFETY: NVTX passes on the program's valid string.
    domain_calls::push(
        named(Op::Push, unsafe { handles::narrow(message) }),
        null_mut(),
    )
}

pub(crate) unsafe extern "C" fn range_push_w(message: *const WideChar) -> c_int {
    // SAFETY: NVTX passes on the program's valid string.
    domain_calls::push(
        named(Op::Push, unsafe { handles::wide(message) }),
        null_mut(),
    )
}

pub(crate) unsafe extern "C" fn range_pop() -> c_int {
    // SAFETY: takes no pointer that is read.
    unsafe { domain_calls::range_pop(null_mut()) }
}

pub(crate) unsafe extern "C" fn name_category_a(category: u32, name: *const c_char) {
    // SAFETY: the same promise, passed on.
    unsafe { domain_calls::name_category_a(null_mut(), category, name) }
}

pub(crate) unsafe extern "C" fn name_category_w(category: u32, name: *const WideChar) {
    // SAFETY: the same promise, passed on.
    unsafe { domain_calls::name_category_w(null_mut(), category, name) }
}

pub(crate) unsafe extern "C" fn name_thread_a(thread: u32, name: *const c_char) {
    // SAFETY: NVTX passes on the program's valid string.
    name_thread(thread, unsafe { handles::narrow(name) });
}

pub(crate) unsafe extern "C" fn name_thread_w(thread: u32, name: *const WideChar) {
    // SAFETY: NVTX passes on the program's valid string.
    name_thread(thread, unsafe { handles::wide(name) });
}

/// Records the name of the operating-system thread `thread`.
fn name_thread(thread: u32, name: Option<String>) {
    let mut call = named(Op::NameThread, name);
    call.id = Some(thread.into());
    log::write(&call);
}
