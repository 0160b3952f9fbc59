//! The types that cross the C boundary, so that every raw pointer of a caller is checked and read
//! or written in one place. Must never import driver state.

use std::ffi::{CStr, c_char, c_void};

use crate::codes::Code;

/// What a driver function answers: a value, or the code the caller gets.
pub(crate) type Answer<T = ()> = Result<T, Code>;

/// An opaque handle (`CUcontext`, `CUstream`, …): pointer-sized, never followed.
pub(crate) type Handle = u64;

/// A pointer that the C caller gives for the driver to write one `T` to.
#[repr(transparent)]
pub(crate) struct Out<T>(*mut T);

impl<T> Out<T> {
    /// Writes `value`; a null pointer is INVALID_VALUE.
    pub(crate) fn put(self, value: T) -> Answer {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the C caller passes a pointer that is valid for one write of T.
        unsafe { self.0.write(value) };
        Ok(())
    }

    /// Writes `value` where the pointer is given at all: for outputs that the API calls optional.
    pub(crate) fn put_if_given(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: the C caller passes null or a pointer that is valid for one write of T.
            unsafe { self.0.write(value) };
        }
    }
}

impl<T: Copy> Out<T> {
    /// Replaces the value behind the pointer and gives the former one; null is INVALID_VALUE.
    pub(crate) fn exchange(self, value: impl FnOnce(T) -> Answer<T>) -> Answer {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the C caller passes a pointer that is valid for one read of T.
        let former = unsafe { self.0.read() };
        self.put(value(former)?)
    }
}

impl<T> Out<T> {
    /// Whether the caller gave no pointer.
    pub(crate) fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// Writes `values` one after another, for outputs that are arrays.
    pub(crate) fn put_all(self, values: Vec<T>) {
        for (at, value) in values.into_iter().enumerate() {
            // SAFETY: the C caller passes room for as many values as it asked for.
            let slot = unsafe { self.0.add(at) };
            // SAFETY: as above.
            unsafe { slot.write(value) };
        }
    }
}

/// The destructor of a user object: `CUhostFn` and what it is called with.
pub(crate) struct Destructor(pub(crate) Option<extern "C" fn(Host)>, pub(crate) Host);

impl Destructor {
    /// Calls it.
    pub(crate) fn run(self) {
        if let Some(function) = self.0 {
            function(self.1);
        }
    }
}

/// Host memory of the caller: the source or target of a copy, or the arguments of a launch.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Host(pub(crate) *mut c_void);

// SAFETY: the address alone crosses threads; who follows it holds the caller's promise that the
// memory stays valid until the operation has run.
unsafe impl Send for Host {}

impl Host {
    /// The address as a number.
    pub(crate) fn address(self) -> u64 {
        self.0 as u64
    }

    /// A copy of `len` bytes; null is INVALID_VALUE unless `len` is 0.
    pub(crate) fn bytes(self, len: usize) -> Answer<Vec<u8>> {
        if len == 0 {
            return Ok(Vec::new());
        }
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the C caller promises `len` readable bytes.
        let bytes = unsafe { std::slice::from_raw_parts(self.0.cast::<u8>(), len) };
        Ok(bytes.to_vec())
    }

    /// Copies `len` bytes from `source` to here.
    pub(crate) fn fill_from(self, source: *const u8, len: usize) {
        // SAFETY: the C caller promises `len` writable bytes here, and `source` comes from the
        // memory map, which checked `len`. `copy` allows the two to overlap.
        unsafe { std::ptr::copy(source, self.0.cast::<u8>(), len) };
    }
}

/// The `void** kernelParams` of a launch: one pointer per kernel parameter.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Params(*const *mut c_void);

impl Params {
    /// Whether the caller gave none.
    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Appends the bytes of parameter `index`, of which the kernel's signature says that it has
    /// `size`.
    pub(crate) fn append(self, index: usize, size: usize, to: &mut Vec<u8>) -> Answer {
        // SAFETY: the C caller gives one pointer per parameter of the kernel, and `index` is below
        // their number.
        let slot = unsafe { self.0.add(index) };
        // SAFETY: as above, the slot holds a pointer.
        let value = unsafe { slot.read() };
        if value.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: each of these pointers is to a value of its parameter's size (API reference,
        // cuLaunchKernel).
        to.extend_from_slice(unsafe { std::slice::from_raw_parts(value.cast::<u8>(), size) });
        Ok(())
    }
}

/// A NUL-terminated text of the caller.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Text(pub(crate) *const c_char);

impl Text {
    /// The text; null is INVALID_VALUE, bytes that are not UTF-8 are replaced.
    pub(crate) fn get(self) -> Answer<String> {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the C caller passes a NUL-terminated string.
        let text = unsafe { CStr::from_ptr(self.0) };
        Ok(text.to_string_lossy().into_owned())
    }

    /// The first four bytes, to tell a binary image (not NUL-terminated) from PTX text. Stops at a
    /// NUL.
    pub(crate) fn magic(self) -> Answer<[u8; 4]> {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        let mut magic = [0; 4];
        for (at, byte) in magic.iter_mut().enumerate() {
            // SAFETY: no byte before this one was NUL, so the text or image has it.
            let here = unsafe { self.0.add(at) };
            // SAFETY: as above.
            *byte = unsafe { here.cast::<u8>().read() };
            if *byte == 0 {
                break;
            }
        }
        Ok(magic)
    }
}

/// A buffer of the caller for a text of at most `len` bytes with its NUL.
pub(crate) fn put_text(buffer: Out<c_char>, len: i32, text: &str) -> Answer {
    let Ok(room) = usize::try_from(len) else {
        return Err(Code::INVALID_VALUE);
    };
    if buffer.0.is_null() || room == 0 {
        return Err(Code::INVALID_VALUE);
    }
    let kept = text.len().min(room - 1);
    // SAFETY: the C caller gives `len` writable bytes, and `kept` is below `len`.
    unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), buffer.0.cast::<u8>(), kept) };
    // SAFETY: `kept` is below `len`.
    let end = unsafe { buffer.0.add(kept) };
    // SAFETY: as above.
    unsafe { end.write(0) };
    Ok(())
}
