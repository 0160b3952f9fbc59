//! The functions of NVTX's module CORE2: every call with a domain.
//!
//! They are `unsafe extern "C"` because NVTX calls them through its table with the program's
//! pointers, whose requirements are those of NVTX's documentation.

use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::abi::{EventAttributes, Handle, WideChar};
use crate::call::{Call, Op};
use crate::{event_attributes, handles, log};

/// `NVTX_NO_PUSH_POP_TRACKING`: the result of push and pop if the depth is unknown.
const UNTRACKED: c_int = -2;

/// The next range id; 0 is not a valid id.
static NEXT_RANGE: AtomicU64 = AtomicU64::new(1);

pub(crate) unsafe extern "C" fn mark_ex(domain: Handle, attributes: *const EventAttributes) {
    let mut call = log::begin(Op::Mark, domain);
    // SAFETY: NVTX passes on the program's valid attributes.
    unsafe { event_attributes::describe(&mut call, attributes) };
    log::write(&call);
}

pub(crate) unsafe extern "C" fn range_start_ex(
    domain: Handle,
    attributes: *const EventAttributes,
) -> u64 {
    let mut call = log::begin(Op::Start, domain);
    // SAFETY: NVTX passes on the program's valid attributes.
    unsafe { event_attributes::describe(&mut call, attributes) };
    start(call)
}

/// Assigns an id to a start call and writes it.
pub(crate) fn start(mut call: Call) -> u64 {
    let id = NEXT_RANGE.fetch_add(1, Ordering::Relaxed);
    call.id = Some(id);
    log::write(&call);
    id
}

pub(crate) unsafe extern "C" fn range_end(domain: Handle, id: u64) {
    let mut call = log::begin(Op::End, domain);
    call.id = Some(id);
    log::write(&call);
}

pub(crate) unsafe extern "C" fn range_push_ex(
    domain: Handle,
    attributes: *const EventAttributes,
) -> c_int {
    let mut call = log::begin(Op::Push, domain);
    // SAFETY: NVTX passes on the program's valid attributes.
    unsafe { event_attributes::describe(&mut call, attributes) };
    push(call, domain)
}

/// Assigns the depth to a push call and writes it.
pub(crate) fn push(mut call: Call, domain: Handle) -> c_int {
    call.level = log::level_in(domain);
    log::write(&call);
    call.level.unwrap_or(UNTRACKED)
}

pub(crate) unsafe extern "C" fn range_pop(domain: Handle) -> c_int {
    let mut call = log::begin(Op::Pop, domain);
    call.level = log::level_out(domain);
    log::write(&call);
    call.level.unwrap_or(UNTRACKED)
}

pub(crate) unsafe extern "C" fn name_category_a(
    domain: Handle,
    category: u32,
    name: *const c_char,
) {
    // SAFETY: NVTX passes on the program's valid string.
    name_category(domain, category, unsafe { handles::narrow(name) });
}

pub(crate) unsafe extern "C" fn name_category_w(
    domain: Handle,
    category: u32,
    name: *const WideChar,
) {
    // SAFETY: NVTX passes on the program's valid string.
    name_category(domain, category, unsafe { handles::wide(name) });
}

/// Records the name of `category`.
pub(crate) fn name_category(domain: Handle, category: u32, name: Option<String>) {
    let mut call = log::begin(Op::NameCategory, domain);
    call.category = Some(category);
    call.name = name;
    log::write(&call);
}

pub(crate) unsafe extern "C" fn register_string_a(domain: Handle, text: *const c_char) -> Handle {
    // SAFETY: NVTX passes on the program's valid string.
    register_string(domain, unsafe { handles::narrow(text) })
}

pub(crate) unsafe extern "C" fn register_string_w(domain: Handle, text: *const WideChar) -> Handle {
    // SAFETY: NVTX passes on the program's valid string.
    register_string(domain, unsafe { handles::wide(text) })
}

fn register_string(domain: Handle, text: Option<String>) -> Handle {
    let mut call = log::begin(Op::RegisterString, domain);
    call.name.clone_from(&text);
    call.registered = true;
    log::write(&call);
    handles::intern(text.unwrap_or_default())
}

pub(crate) unsafe extern "C" fn create_a(name: *const c_char) -> Handle {
    // SAFETY: NVTX passes on the program's valid string.
    create(unsafe { handles::narrow(name) })
}

pub(crate) unsafe extern "C" fn create_w(name: *const WideChar) -> Handle {
    // SAFETY: NVTX passes on the program's valid string.
    create(unsafe { handles::wide(name) })
}

fn create(name: Option<String>) -> Handle {
    let domain = handles::intern(name.clone().unwrap_or_default());
    let mut call = log::begin(Op::DomainCreate, domain);
    call.name = name;
    log::write(&call);
    domain
}

pub(crate) unsafe extern "C" fn destroy(domain: Handle) {
    log::write(&log::begin(Op::DomainDestroy, domain));
}

pub(crate) unsafe extern "C" fn initialize(_reserved: *const c_void) {
    log::write(&log::begin(Op::Initialize, std::ptr::null_mut()));
}
