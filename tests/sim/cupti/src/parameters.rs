//! The parameters of the profiler's functions (`cupti_profiler_host.h`, `cupti_pmsampling.h` and
//! `cupti_target.h` of CUDA 13.5). Every raw pointer in them is read and written here.

use std::ffi::{CStr, c_char, c_void};
use std::ops::Range;

use crate::result_codes::{Answer, Code};

/// A pointer to the parameters of a function.
#[repr(transparent)]
pub(crate) struct Parameters<T>(*mut T);

impl<T: Sizes> Parameters<T> {
    /// INVALID_PARAMETER if they are null or do not have the size of the header.
    pub(crate) fn get(&mut self) -> Answer<&mut T> {
        // SAFETY: the C caller passes null or the address of its parameters.
        let parameters = unsafe { self.0.as_mut() }.ok_or(Code::INVALID_PARAMETER)?;
        if T::SIZES.contains(&parameters.size()) {
            Ok(parameters)
        } else {
            Err(Code::INVALID_PARAMETER)
        }
    }
}

/// Parameters that begin with their size.
pub(crate) trait Sizes {
    /// The macro `…_STRUCT_SIZE` in this and in older versions.
    const SIZES: &'static [usize];

    fn size(&self) -> usize;
}

/// Structs that begin with their size.
macro_rules! structs {
    ($($(#[$doc:meta])* $name:ident $sizes:expr => { $($field:ident: $type:ty,)* })*) => {$(
        $(#[$doc])*
        #[repr(C)]
        pub(crate) struct $name {
            size_of: usize,
            $(pub(crate) $field: $type,)*
        }

        impl Sizes for $name {
            const SIZES: &'static [usize] = &$sizes;

            fn size(&self) -> usize {
                self.size_of
            }
        }
    )*};
}

/// Structs with a private pointer after their size.
macro_rules! parameters {
    ($($(#[$doc:meta])* $name:ident $sizes:expr => { $($field:ident: $type:ty,)* })*) => {
        structs! {
            $($(#[$doc])* $name $sizes => { private: *mut c_void, $($field: $type,)* })*
        }
    };
}

pub(crate) use {parameters, structs};

parameters! {
    Initialize [16] => {}

    ChipName [32] => {
        device: usize,
        name: *const c_char,
    }

    Availability [40] => {
        device: usize,
        bytes: usize,
        image: Image,
    }

    /// The last field of a version is the name of a set of metrics.
    HostInitialize [48, 56] => {
        profiler: i32,
        chip: Name,
        availability: *const u8,
        host: usize,
    }

    HostObject [24] => {
        host: usize,
    }

    AddMetrics [40] => {
        host: usize,
        names: *const Name,
        count: usize,
    }

    BaseMetrics [48] => {
        host: usize,
        kind: i32,
        names: *const *const c_char,
        count: usize,
    }

    ConfigSize [32] => {
        host: usize,
        bytes: usize,
    }

    ConfigImage [40] => {
        host: usize,
        bytes: usize,
        image: Image,
    }

    Passes [40] => {
        bytes: usize,
        image: Image,
        passes: usize,
    }

    Evaluate [72] => {
        host: usize,
        image: Image,
        bytes: usize,
        index: usize,
        names: *const Name,
        count: usize,
        values: *mut f64,
    }

    Enable [32] => {
        device: usize,
        object: usize,
    }

    /// Of start, stop and disable.
    SamplingObject [24] => {
        object: usize,
    }

    /// The last field came with CUDA 12.8.
    SetConfig [60, 64] => {
        object: usize,
        bytes: usize,
        image: Image,
        hardware_buffer_bytes: usize,
        interval: u64,
        trigger: i32,
    }

    DataSize [56] => {
        object: usize,
        names: *const Name,
        count: usize,
        max_samples: u32,
        bytes: usize,
    }

    DataInitialize [40] => {
        object: usize,
        bytes: usize,
        image: Image,
    }

    Decode [45] => {
        object: usize,
        image: Image,
        bytes: usize,
        stop_reason: i32,
        overflow: u8,
    }

    DataInfo [56] => {
        image: Image,
        bytes: usize,
        total: usize,
        populated: usize,
        completed: usize,
    }

    SampleInfo [64] => {
        object: usize,
        image: Image,
        bytes: usize,
        index: usize,
        start: u64,
        end: u64,
    }
}

/// A NUL-terminated text of the caller.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Name(*const c_char);

impl Name {
    /// `None` for null and for bytes that are not UTF-8.
    pub(crate) fn text<'a>(self) -> Option<&'a str> {
        if self.0.is_null() {
            return None;
        }
        // SAFETY: the caller passes NUL-terminated strings that live until the function returns.
        unsafe { CStr::from_ptr(self.0) }.to_str().ok()
    }
}

impl HostInitialize {
    pub(crate) fn chip(&self) -> Option<&str> {
        self.chip.text()
    }
}

impl AddMetrics {
    pub(crate) fn names(&self) -> Vec<Option<&str>> {
        names(self.names, self.count)
    }
}

impl Evaluate {
    pub(crate) fn names(&self) -> Vec<Option<&str>> {
        names(self.names, self.count)
    }

    /// Writes one value for each name.
    pub(crate) fn write(&self, values: &[f64]) -> Answer {
        if self.values.is_null() || values.len() != self.count {
            return Err(Code::INVALID_PARAMETER);
        }
        // SAFETY: the caller passes room for as many values as names.
        unsafe { std::ptr::copy_nonoverlapping(values.as_ptr(), self.values, values.len()) };
        Ok(())
    }
}

fn names<'a>(first: *const Name, count: usize) -> Vec<Option<&'a str>> {
    if first.is_null() {
        return Vec::new();
    }
    // SAFETY: the caller passes an array of so many names.
    let names = unsafe { std::slice::from_raw_parts(first, count) };
    names.iter().map(|name| name.text()).collect()
}

/// An image of bytes that the caller keeps for the library.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Image(*mut u8);

impl Image {
    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Its bytes; INVALID_PARAMETER if it is null.
    pub(crate) fn read(self, bytes: usize) -> Answer<Vec<u8>> {
        self.read_at(0..bytes, bytes)
    }

    /// A part of its bytes; INVALID_PARAMETER if it is null or has no such part.
    pub(crate) fn read_at(self, part: Range<usize>, bytes: usize) -> Answer<Vec<u8>> {
        if self.is_null() || part.end > bytes {
            return Err(Code::INVALID_PARAMETER);
        }
        // SAFETY: the caller passes an image of so many bytes.
        let image = unsafe { std::slice::from_raw_parts(self.0, bytes) };
        Ok(image[part].to_vec())
    }

    /// Writes `image` to its beginning; INVALID_PARAMETER if it is null or has no room.
    pub(crate) fn write(self, bytes: usize, image: &[u8]) -> Answer {
        if self.is_null() || image.len() > bytes {
            return Err(Code::INVALID_PARAMETER);
        }
        // SAFETY: the caller passes an image of so many bytes.
        unsafe { std::ptr::copy_nonoverlapping(image.as_ptr(), self.0, image.len()) };
        Ok(())
    }
}
