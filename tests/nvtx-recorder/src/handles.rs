//! Handles of domains and registered strings, and what they stand for.
//!
//! Why numbers and not pointers: a handle comes back from the program, and a wrong one must make a
//! readable line instead of a crash. Must never import: log, domain_calls, global_calls.

use std::ffi::{CStr, c_char};
use std::sync::{PoisonError, RwLock};

use crate::abi::{Handle, WideChar};

/// All names handed out so far; a handle is an index into it plus one, as null means "none".
static NAMES: RwLock<Vec<String>> = RwLock::new(Vec::new());

/// Keeps `name` and gives the handle for it.
pub(crate) fn keep(name: String) -> Handle {
    let mut names = NAMES.write().unwrap_or_else(PoisonError::into_inner);
    names.push(name);
    std::ptr::without_provenance_mut(names.len())
}

/// The name behind a handle: `None` for null, a text that says so for one that was never given out.
pub(crate) fn resolve(handle: Handle) -> Option<String> {
    let number = handle.addr();
    let index = number.checked_sub(1)?;
    let names = NAMES.read().unwrap_or_else(PoisonError::into_inner);
    Some(
        names
            .get(index)
            .cloned()
            .unwrap_or_else(|| format!("<unknown handle {number:#x}>")),
    )
}

/// The text of an A function; `None` for null. What is not UTF-8 is replaced.
///
/// # Safety
/// `text` is null or points to a string that ends in NUL and stays unchanged during the call.
pub(crate) unsafe fn narrow(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: not null, and the caller vouches for the rest.
    let text = unsafe { CStr::from_ptr(text) };
    Some(text.to_string_lossy().into_owned())
}

/// The text of a W function; `None` for null. What is no Unicode scalar value is replaced.
///
/// # Safety
/// `text` is null or points to wide characters that end in 0 and stay unchanged during the call.
pub(crate) unsafe fn wide(text: *const WideChar) -> Option<String> {
    if text.is_null() {
        return None;
    }
    let mut out = String::new();
    for index in 0.. {
        let at = text.wrapping_add(index);
        // SAFETY: no 0 was met before `at`, so it is still inside the caller's string.
        let unit = unsafe { at.read() };
        if unit == 0 {
            break;
        }
        out.push(char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER));
    }
    Some(out)
}
