//! The types that cross the C boundary. Every raw pointer of a caller is checked, read and written
//! here.

use std::ffi::{CStr, c_char, c_void};

use simbase::activity::Call;

use crate::record_sizes::Version;
use crate::result_codes::{Answer, Code};

/// An output parameter (`T*`) of the C caller.
#[repr(transparent)]
pub(crate) struct Out<T>(*mut T);

impl<T> Out<T> {
    /// Writes `value`; a null pointer is INVALID_PARAMETER.
    pub(crate) fn write(self, value: T) -> Answer {
        if self.0.is_null() {
            return Err(Code::INVALID_PARAMETER);
        }
        self.write_if_given(value);
        Ok(())
    }

    /// Writes `value`, unless the pointer is null.
    pub(crate) fn write_if_given(self, value: T) {
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
        self.write(value(former)?)
    }
}

/// `CUpti_BuffersCallbackRequestFunc`.
pub(crate) type Request = extern "C" fn(*mut BufferPtr, *mut usize, *mut usize);
/// `CUpti_BuffersCallbackCompleteFunc`.
pub(crate) type Complete = extern "C" fn(*mut u8, u32, BufferPtr, usize, usize);

/// `CUpti_BuffersCallbackRequestFunc_v2`.
pub(crate) type SubscriberRequest =
    extern "C" fn(*mut BufferPtr, *mut usize, *mut usize, &BufferRequestInfo);
/// `CUpti_BuffersCallbackCompleteFunc_v2`.
pub(crate) type SubscriberComplete = extern "C" fn(BufferPtr, usize, usize, &BufferCompleteInfo);

/// `CUpti_BufferCallbackRequestInfo`.
#[repr(C)]
pub(crate) struct BufferRequestInfo {
    size: usize,
}

/// `CUpti_BufferCallbackCompleteInfo`. Only records that the client defines have layouts.
#[repr(C)]
pub(crate) struct BufferCompleteInfo {
    size: usize,
    thread: u64,
    layouts: *const c_void,
    layout_count: usize,
}

/// Whom the library asks for buffers, and gives them back to.
#[derive(Clone, Copy)]
pub(crate) enum BufferCallbacks {
    Process(Request, Complete),
    Subscriber(SubscriberRequest, SubscriberComplete),
}

impl BufferCallbacks {
    /// The buffer that the client provides, its size, and the limit of records.
    pub(crate) fn request(self) -> (BufferPtr, usize, usize) {
        let (mut start, mut size, mut max_records) = (BufferPtr::NONE, 0, 0);
        match self {
            Self::Process(request, _) => request(&mut start, &mut size, &mut max_records),
            Self::Subscriber(request, _) => {
                let info = BufferRequestInfo {
                    size: size_of::<BufferRequestInfo>(),
                };
                request(&mut start, &mut size, &mut max_records, &info);
            }
        }
        (start, size, max_records)
    }

    pub(crate) fn complete(self, start: BufferPtr, size: usize, valid: usize) {
        match self {
            // No context; a real CUPTI passes garbage as the stream.
            Self::Process(_, complete) => {
                complete(std::ptr::null_mut(), u32::MAX, start, size, valid);
            }
            Self::Subscriber(_, complete) => {
                let info = BufferCompleteInfo {
                    size: size_of::<BufferCompleteInfo>(),
                    thread: 0,
                    layouts: std::ptr::null(),
                    layout_count: 0,
                };
                complete(start, size, valid, &info);
            }
        }
    }
}

/// `CUpti_CallbackFunc`: the client's pointer, the domain, the callback id, and the domain's data.
pub(crate) type Callback = extern "C" fn(User, u32, u32, *const c_void);

/// The pointer that a subscriber gets back in its callbacks.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct User(*const c_void);

// SAFETY: the simulated libcupti never dereferences this pointer; it only passes it to callbacks.
unsafe impl Send for User {}

/// `CUpti_SubscriberParams` up to CUDA 13.2.
#[repr(C)]
#[derive(Clone, Copy)]
struct FirstSubscriberParams {
    size: usize,
    name: *const c_char,
    holder: *mut c_char,
    holder_size: usize,
}

/// `CUpti_SubscriberParams` since CUDA 13.3.
#[repr(C)]
#[derive(Clone, Copy)]
struct NewSubscriberParams {
    first: FirstSubscriberParams,
    allow_multiple: u8,
    padding: [u8; 7],
}

/// Null, or a `CUpti_SubscriberParams` of the caller, of the size that it states.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct SubscriberParams(*const FirstSubscriberParams);

impl SubscriberParams {
    fn get(self) -> Option<FirstSubscriberParams> {
        // SAFETY: the C caller passes null or a struct of at least this size.
        unsafe { self.0.as_ref() }.copied()
    }

    /// Whether the caller allows others; INVALID_PARAMETER for a struct that is smaller than that
    /// of CUDA 13.0, or larger than the library's.
    pub(crate) fn allows_others(self, version: Version) -> Answer<bool> {
        let (first, new) = (
            size_of::<FirstSubscriberParams>(),
            size_of::<NewSubscriberParams>(),
        );
        match self.get().map(|params| params.size) {
            None => Ok(false),
            Some(size) if size == first => Ok(false),
            Some(size) if size == new && version >= Version::Cuda13_3 => {
                // SAFETY: the caller states that its struct has this size.
                let params = unsafe { self.0.cast::<NewSubscriberParams>().read() };
                match params.allow_multiple {
                    0 => Ok(false),
                    1 => Ok(true),
                    _ => Err(Code::INVALID_PARAMETER),
                }
            }
            Some(_) => Err(Code::INVALID_PARAMETER),
        }
    }

    pub(crate) fn name(self) -> Option<String> {
        let name = self.get()?.name;
        if name.is_null() {
            return None;
        }
        // SAFETY: the C caller passes null or a C string.
        let name = unsafe { CStr::from_ptr(name) };
        Some(name.to_string_lossy().into_owned())
    }

    /// Writes as much of it as there is room for, unless the caller does not ask for it.
    pub(crate) fn set_holder(self, name: &str) {
        let Some(params) = self.get() else {
            return;
        };
        let Some(room) = params.holder_size.checked_sub(1) else {
            return;
        };
        if params.holder.is_null() {
            return;
        }
        let bytes = name.bytes().take(room).chain([0]);
        for (at, byte) in bytes.enumerate() {
            let place = params.holder.wrapping_add(at);
            // SAFETY: the C caller passes a place of this size, and `room` leaves one for the 0.
            unsafe { place.write(byte as c_char) };
        }
    }
}

/// `CUpti_CallbackData`. Fields that no test needs are null.
#[repr(C)]
pub(crate) struct CallbackData {
    /// 0 at entry, 1 at exit.
    callback_site: i32,
    function_name: *const c_char,
    parameters: *const c_void,
    return_value: *const i32,
    symbol_name: *const c_char,
    context: *const c_void,
    context_uid: u32,
    correlation_data: *mut u64,
    correlation: u32,
}

impl CallbackData {
    /// A call at its entry, where it may have the name of a kernel, or with its result at its exit.
    /// The client may share data between the two through `shared`.
    pub(crate) fn new(correlation: u32, call: &Call<'_>, shared: &mut u64) -> CallbackData {
        let result = call.has_ended.then_some(&call.result);
        CallbackData {
            callback_site: i32::from(call.has_ended),
            function_name: std::ptr::null(),
            parameters: call.parameters,
            return_value: result.map_or(std::ptr::null(), std::ptr::from_ref),
            symbol_name: call.kernel,
            context: call.context as *const c_void,
            context_uid: 0,
            correlation_data: shared,
            correlation,
        }
    }
}

/// `CUpti_ResourceData`, whose descriptor depends on the callback. Fields that no test needs are
/// null.
#[repr(C)]
pub(crate) struct ResourceData<'a, T> {
    context: u64,
    resource: *const c_void,
    descriptor: Option<&'a T>,
}

impl<'a, T> ResourceData<'a, T> {
    /// Of a context, or 0.
    pub(crate) fn new(context: u64, descriptor: Option<&'a T>) -> ResourceData<'a, T> {
        ResourceData {
            context,
            resource: std::ptr::null(),
            descriptor,
        }
    }
}

/// `CUpti_ModuleResourceData`.
#[repr(C)]
pub(crate) struct ModuleData {
    id: u32,
    bytes: usize,
    cubin: *const u8,
}

impl ModuleData {
    /// The client may read the image until its callback returns.
    pub(crate) fn new(id: u32, image: &[u8]) -> ModuleData {
        ModuleData {
            id,
            bytes: image.len(),
            cubin: image.as_ptr(),
        }
    }
}

/// `CUpti_GraphData`. Fields that no test needs are 0.
#[repr(C)]
#[derive(Default)]
pub(crate) struct GraphData {
    graph: usize,
    original_graph: usize,
    node: usize,
    original_node: usize,
    node_type: i32,
    dependency: usize,
    executable: usize,
}

impl GraphData {
    /// A node, and the node that it is a copy of, or 0.
    pub(crate) fn new(node: usize, original_node: usize) -> GraphData {
        GraphData {
            node,
            original_node,
            ..GraphData::default()
        }
    }
}

/// The address of a buffer or record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct BufferPtr(*mut u8);

// SAFETY: only the address crosses threads; the client does not use the buffer until it is
// returned.
unsafe impl Send for BufferPtr {}

impl BufferPtr {
    pub(crate) const NONE: BufferPtr = BufferPtr(std::ptr::null_mut());

    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The distance from `start` in bytes; `None` if `self` is before it.
    pub(crate) fn offset_from(self, start: BufferPtr) -> Option<usize> {
        (self.0 as usize).checked_sub(start.0 as usize)
    }

    /// The address `offset` bytes on.
    pub(crate) fn at(self, offset: usize) -> BufferPtr {
        BufferPtr(self.0.wrapping_add(offset))
    }

    /// Writes `bytes` at `offset`, which the caller has checked to be inside the buffer.
    pub(crate) fn write(self, offset: usize, bytes: &[u8]) {
        // SAFETY: the client passed a buffer of the size that the caller checked against, and reads
        // it only after it is returned.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.at(offset).0, bytes.len()) };
    }

    /// Whether the first `size` bytes are all zero.
    pub(crate) fn is_zero(self, size: usize) -> bool {
        const ZEROS: [u8; 4096] = [0; 4096];
        // SAFETY: the client passed a buffer of at least `size` bytes, and does not write to it
        // until it is returned.
        let bytes = unsafe { std::slice::from_raw_parts(self.0, size) };
        bytes
            .chunks(ZEROS.len())
            .all(|chunk| chunk == &ZEROS[..chunk.len()])
    }

    /// The first four bytes: a record's kind. The caller has checked that there are four bytes.
    pub(crate) fn record_kind(self) -> u32 {
        // SAFETY: the client passed a buffer with at least as many valid bytes.
        unsafe { self.0.cast::<u32>().read_unaligned() }
    }
}

/// A NUL-terminated text of the caller.
#[repr(transparent)]
pub(crate) struct Text(*const c_char);

impl Text {
    /// `text` for the library, or null. It must live until the function returns.
    pub(crate) fn new(text: Option<&CStr>) -> Text {
        Text(text.map_or(std::ptr::null(), CStr::as_ptr))
    }

    /// The text; `None` for null and for bytes that are not UTF-8.
    pub(crate) fn get(&self) -> Option<&str> {
        if self.0.is_null() {
            return None;
        }
        // SAFETY: the caller passes a NUL-terminated string.
        unsafe { CStr::from_ptr(self.0) }.to_str().ok()
    }
}

/// An array of the caller, which lives until the function returns.
#[repr(C)]
pub(crate) struct Array<T>(*const T, usize);

impl<T> Array<T> {
    pub(crate) fn new(items: &[T]) -> Array<T> {
        Array(items.as_ptr(), items.len())
    }

    pub(crate) fn get(&self) -> &[T] {
        // SAFETY: `new` took these from a slice that lives until the function returns.
        unsafe { std::slice::from_raw_parts(self.0, self.1) }
    }
}
