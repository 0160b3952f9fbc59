//! Texts that a program passes to NVTX.

use std::borrow::Cow;
use std::ffi::{CStr, c_char};

use super::abi::WideChar;

/// The text of a function whose name ends in A; empty for null.
///
/// # Safety
/// `text` must be null or a string that ends in NUL and is not changed meanwhile.
pub(super) unsafe fn narrow<'a>(text: *const c_char) -> Cow<'a, str> {
    if text.is_null() {
        return Cow::Borrowed("");
    }
    // SAFETY: not null; the caller promises the rest.
    unsafe { CStr::from_ptr(text) }.to_string_lossy()
}

/// The text of a function whose name ends in W; empty for null.
///
/// # Safety
/// `text` must be null or wide characters that end in 0 and are not changed meanwhile.
pub(super) unsafe fn wide(text: *const WideChar) -> String {
    let mut out = String::new();
    if text.is_null() {
        return out;
    }
    for index in 0.. {
        let character = text.wrapping_add(index);
        // SAFETY: there was no 0 before, so this is inside the caller's text.
        let unit = unsafe { character.read() };
        if unit == 0 {
            break;
        }
        out.push(char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER));
    }
    out
}
