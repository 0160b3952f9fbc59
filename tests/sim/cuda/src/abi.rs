//! The types that cross the C boundary. Every raw pointer of a caller is checked, read and written
//! here.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_void};

use crate::result_codes::{Answer, Code};

/// An opaque handle (`CUcontext`, `CUstream`, …), never dereferenced.
pub(crate) type Handle = u64;

/// A pointer of the C caller to which one `T` is written.
#[repr(transparent)]
pub(crate) struct Out<T>(*mut T);

impl<T> Out<T> {
    /// Writes `value`; a null pointer is INVALID_VALUE.
    pub(crate) fn write(self, value: T) -> Answer {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        self.write_if_given(value);
        Ok(())
    }

    /// Writes `value`, unless the pointer is null: for optional outputs.
    pub(crate) fn write_if_given(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: the C caller passes null or a pointer that is valid for one write of T.
            unsafe { self.0.write(value) };
        }
    }
}

impl<T: Copy> Out<T> {
    /// Replaces the value behind the pointer; null is INVALID_VALUE.
    pub(crate) fn exchange(self, value: impl FnOnce(T) -> Answer<T>) -> Answer {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the C caller passes a pointer that is valid for one read of T.
        let former = unsafe { self.0.read() };
        self.write(value(former)?)
    }
}

impl<T> Out<T> {
    /// Whether the pointer is null.
    pub(crate) fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// Writes all `values`: for outputs that are arrays.
    pub(crate) fn write_all(self, values: Vec<T>) {
        for (index, value) in values.into_iter().enumerate() {
            // SAFETY: the C caller passes an array for as many values as it asked for.
            let slot = unsafe { self.0.add(index) };
            // SAFETY: as above.
            unsafe { slot.write(value) };
        }
    }
}

/// The destructor of a user object: a `CUhostFn` and its argument.
pub(crate) struct Destructor(
    pub(crate) Option<extern "C" fn(HostPointer)>,
    pub(crate) HostPointer,
);

thread_local! {
    static IS_DESTROYING: Cell<bool> = const { Cell::new(false) };
}

impl Destructor {
    pub(crate) fn run(self) {
        if let Some(function) = self.0 {
            IS_DESTROYING.set(true);
            function(self.1);
            IS_DESTROYING.set(false);
        }
    }

    /// Whether the calling thread runs a destructor, which may not call the driver.
    pub(crate) fn is_running() -> bool {
        IS_DESTROYING.get()
    }
}

/// A pointer to the caller's memory: the source or target of a copy, or an argument.
#[derive(Clone, Copy, PartialEq)]
#[repr(transparent)]
pub(crate) struct HostPointer(pub(crate) *mut c_void);

// SAFETY: only the address crosses threads. It is dereferenced while the caller guarantees that the
// memory is valid: until the operation has run.
unsafe impl Send for HostPointer {}

impl HostPointer {
    pub(crate) fn address(self) -> u64 {
        self.0 as u64
    }

    /// A copy of `len` bytes; null is INVALID_VALUE unless `len` is 0.
    pub(crate) fn read(self, len: usize) -> Answer<Vec<u8>> {
        if len == 0 {
            return Ok(Vec::new());
        }
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the C caller guarantees `len` readable bytes.
        let bytes = unsafe { std::slice::from_raw_parts(self.0.cast::<u8>(), len) };
        Ok(bytes.to_vec())
    }

    /// Copies `len` bytes from `source` to this pointer.
    pub(crate) fn copy_from(self, source: *const u8, len: usize) {
        // SAFETY: the C caller guarantees `len` writable bytes, and `Memory` checked `len` bytes at
        // `source`. `copy` allows the two to overlap.
        unsafe { std::ptr::copy(source, self.0.cast::<u8>(), len) };
    }
}

/// The `void** kernelParams` of a launch: one pointer per kernel parameter.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Params(*const *mut c_void);

impl Params {
    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Appends the bytes of parameter `index`, which has `size` bytes in the kernel's signature.
    pub(crate) fn append(self, index: usize, size: usize, to: &mut Vec<u8>) -> Answer {
        // SAFETY: the C caller passes one pointer per parameter of the kernel, and `index` is less
        // than their number.
        let slot = unsafe { self.0.add(index) };
        // SAFETY: as above, the slot contains a pointer.
        let value = unsafe { slot.read() };
        if value.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: each pointer is to a value of its parameter's size (API reference,
        // cuLaunchKernel).
        to.extend_from_slice(unsafe { std::slice::from_raw_parts(value.cast::<u8>(), size) });
        Ok(())
    }
}

/// A NUL-terminated text of the caller.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct CText(pub(crate) *const c_char);

impl CText {
    /// The text; null is INVALID_VALUE, bytes that are not UTF-8 are replaced.
    pub(crate) fn get(self) -> Answer<String> {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the C caller passes a NUL-terminated string.
        let text = unsafe { CStr::from_ptr(self.0) };
        Ok(text.to_string_lossy().into_owned())
    }

    /// The first four bytes or those up to a NUL. They tell a binary image, which is not
    /// NUL-terminated, from PTX text.
    pub(crate) fn magic(self) -> Answer<[u8; 4]> {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        let mut magic = [0; 4];
        for (index, byte) in magic.iter_mut().enumerate() {
            // SAFETY: no byte before this one was NUL, so the text or image contains it.
            let address = unsafe { self.0.add(index) };
            // SAFETY: as above.
            *byte = unsafe { address.cast::<u8>().read() };
            if *byte == 0 {
                break;
            }
        }
        Ok(magic)
    }
}

/// Writes `text` to a buffer of `len` bytes, cut to fit with its NUL.
pub(crate) fn write_text(buffer: Out<c_char>, len: i32, text: &str) -> Answer {
    let Ok(len) = usize::try_from(len) else {
        return Err(Code::INVALID_VALUE);
    };
    if buffer.0.is_null() || len == 0 {
        return Err(Code::INVALID_VALUE);
    }
    let written = text.len().min(len - 1);
    // SAFETY: the C caller passes `len` writable bytes, and `written` is less than `len`.
    unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), buffer.0.cast::<u8>(), written) };
    // SAFETY: `written` is less than `len`.
    let end = unsafe { buffer.0.add(written) };
    // SAFETY: as above.
    unsafe { end.write(0) };
    Ok(())
}
