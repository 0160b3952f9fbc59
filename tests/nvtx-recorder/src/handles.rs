//! Handles of domains and registered strings, and their names.
//!
//! Handles are indices and not pointers, so that a wrong handle from the program produces a
//! readable line instead of a crash.

use std::ffi::{CStr, c_char};
use std::sync::{PoisonError, RwLock};

use crate::abi::{Handle, WideChar};

/// All names with a handle. A handle is an index plus one, because null means "none".
static NAMES: RwLock<Vec<String>> = RwLock::new(Vec::new());

/// Stores `name` and returns its handle.
pub(crate) fn intern(name: String) -> Handle {
    let mut names = NAMES.write().unwrap_or_else(PoisonError::into_inner);
    names.push(name);
    std::ptr::without_provenance_mut(names.len())
}

/// The name of a handle: `None` for null, an explanatory text for an invalid handle.
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

/// The text of an A function; `None` for null. Invalid UTF-8 is replaced.
///
/// # Safety
/// `text` must be null or point to a string that ends in NUL and is not changed during the call.
pub(crate) unsafe fn narrow(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: not null; the caller guarantees the rest.
    let text = unsafe { CStr::from_ptr(text) };
    Some(text.to_string_lossy().into_owned())
}

/// The text of a W function; `None` for null. Invalid Unicode scalar values are replaced.
///
/// # Safety
/// `text` must be null or point to wide characters that end in 0 and are not changed during the
/// call.
pub(crate) unsafe fn wide(text: *const WideChar) -> Option<String> {
    if text.is_null() {
        return None;
    }
    let mut out = String::new();
    for index in 0.. {
        let character = text.wrapping_add(index);
        // SAFETY: there was no 0 before `character`, so it is inside the caller's string.
        let unit = unsafe { character.read() };
        if unit == 0 {
            break;
        }
        out.push(char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER));
    }
    Some(out)
}
