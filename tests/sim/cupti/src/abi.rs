//! The types that cross the C boundary, so that every raw pointer of a caller is checked and read or written in one place. Must
//! never import the library's state.

use std::ffi::{CStr, c_char, c_void};

use crate::codes::{Answer, Code};

/// A pointer that the C caller gives for one `T` to be written to.
#[repr(transparent)]
pub(crate) struct Out<T>(*mut T);

impl<T> Out<T> {
    /// Writes `value`; a null pointer is INVALID_PARAMETER.
    pub(crate) fn put(self, value: T) -> Answer {
        if self.0.is_null() {
            return Err(Code::INVALID_PARAMETER);
        }
        self.put_if_given(value);
        Ok(())
    }

    /// Writes `value` where the pointer is given at all.
    pub(crate) fn put_if_given(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: the C caller passes null or a pointer that is valid for one write of T.
            unsafe { self.0.write(value) };
        }
    }
}

impl<T: Copy> Out<T> {
    /// Replaces the value behind the pointer; null is INVALID_PARAMETER.
    pub(crate) fn exchange(self, value: impl FnOnce(T) -> Answer<T>) -> Answer {
        if self.0.is_null() {
            return Err(Code::INVALID_PARAMETER);
        }
        // SAFETY: the C caller passes a pointer that is valid for one read of T.
        let former = unsafe { self.0.read() };
        self.put(value(former)?)
    }
}

/// `CUpti_BuffersCallbackRequestFunc`.
pub(crate) type Request = extern "C" fn(*mut Bytes, *mut usize, *mut usize);
/// `CUpti_BuffersCallbackCompleteFunc`.
pub(crate) type Complete = extern "C" fn(*mut u8, u32, Bytes, usize, usize);

/// `CUpti_CallbackFunc`: the client's pointer, the domain, the function's number, the call.
pub(crate) type Callback = extern "C" fn(User, u32, u32, &CallbackData);

/// What a subscriber wants to be given back.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct User(*const c_void);

// SAFETY: the library only hands it back.
unsafe impl Send for User {}

/// `CUpti_CallbackData`. What no test asks for is null.
#[repr(C)]
pub(crate) struct CallbackData {
    /// 0 at entry, 1 at the return.
    site: i32,
    function_name: *const c_char,
    parameters: *const c_void,
    answer: *const i32,
    symbol_name: *const c_char,
    context: *const c_void,
    context_uid: u32,
    correlation_data: *mut u64,
    correlation: u32,
}

impl CallbackData {
    /// The call of this correlation id as it begins, or as it returns with an answer. `shared` is the client's, from the one to the
    /// other.
    pub(crate) fn new(correlation: u32, answer: Option<&i32>, shared: &mut u64) -> CallbackData {
        CallbackData {
            site: i32::from(answer.is_some()),
            function_name: std::ptr::null(),
            parameters: std::ptr::null(),
            answer: answer.map_or(std::ptr::null(), std::ptr::from_ref),
            symbol_name: std::ptr::null(),
            context: std::ptr::null(),
            context_uid: 0,
            correlation_data: shared,
            correlation,
        }
    }
}

/// Where a buffer or a record starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Bytes(*mut u8);

// SAFETY: the address alone crosses threads; the client has handed the buffer over until it gets it back.
unsafe impl Send for Bytes {}

impl Bytes {
    /// No buffer.
    pub(crate) const NONE: Bytes = Bytes(std::ptr::null_mut());

    /// Whether the client gave none.
    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// How far `self` is behind `start`, in bytes; none where it is before it.
    pub(crate) fn behind(self, start: Bytes) -> Option<usize> {
        (self.0 as usize).checked_sub(start.0 as usize)
    }

    /// The place `offset` bytes on.
    pub(crate) fn at(self, offset: usize) -> Bytes {
        Bytes(self.0.wrapping_add(offset))
    }

    /// Writes `bytes` at `offset`, which the caller has checked to lie in the buffer.
    pub(crate) fn write(self, offset: usize, bytes: &[u8]) {
        // SAFETY: the client gave a buffer of the size that the caller checked against, and reads it after its return only.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.at(offset).0, bytes.len()) };
    }

    /// Whether the first `size` bytes, which the client says are there, are all zero.
    pub(crate) fn is_zero(self, size: usize) -> bool {
        const ZEROS: [u8; 4096] = [0; 4096];
        // SAFETY: the client gave a place of that size, and writes to it no more until it gets it back.
        let bytes = unsafe { std::slice::from_raw_parts(self.0, size) };
        bytes
            .chunks(ZEROS.len())
            .all(|chunk| chunk == &ZEROS[..chunk.len()])
    }

    /// The number at the beginning, a record's kind. The caller has checked that four bytes are there.
    pub(crate) fn kind(self) -> u32 {
        // SAFETY: the client passes a buffer of which it says so many bytes are valid.
        unsafe { self.0.cast::<u32>().read_unaligned() }
    }
}

/// A NUL-terminated text of the caller.
#[repr(transparent)]
pub(crate) struct Text(*const c_char);

impl Text {
    /// The text; none for null and for bytes that are not UTF-8.
    pub(crate) fn get(&self) -> Option<&str> {
        if self.0.is_null() {
            return None;
        }
        // SAFETY: the caller passes a NUL-terminated string.
        unsafe { CStr::from_ptr(self.0) }.to_str().ok()
    }
}
