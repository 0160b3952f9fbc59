//! The source line of an instruction, by libcupti, which needs no driver for it.

use std::ffi::{CStr, CString, c_char, c_void};

use super::bindings::{CuptiResult, SUCCESS};
use super::library::CuptiLibrary;

/// `CUpti_GetCubinCrcParams`.
#[repr(C)]
struct Crc {
    bytes: usize,
    cubin_bytes: usize,
    cubin: *const c_void,
    crc: u64,
}

/// `CUpti_GetSassToSourceCorrelationParams`.
#[repr(C)]
struct SourceLine {
    bytes: usize,
    cubin: *const c_void,
    function: *const c_char,
    cubin_bytes: usize,
    line: u32,
    offset: u64,
    file: *mut c_char,
    folder: *mut c_char,
}

type Function<T> = unsafe extern "C" fn(*mut T) -> CuptiResult;

/// The number by which samples name the module with this code.
pub(crate) fn crc(cupti: &CuptiLibrary, cubin: &[u8]) -> Option<u64> {
    // SAFETY: it takes this struct.
    let crc: Function<Crc> = unsafe { cupti.symbol("cuptiGetCubinCrc") }?;
    let mut parameters = Crc {
        bytes: size_of::<Crc>(),
        cubin_bytes: cubin.len(),
        cubin: cubin.as_ptr().cast(),
        crc: 0,
    };
    // SAFETY: the code lives until the function returns.
    let status = unsafe { crc(&raw mut parameters) };
    (status == SUCCESS).then_some(parameters.crc)
}

/// The source lines of one kernel.
pub(crate) struct KernelLines<'a> {
    ask: Function<SourceLine>,
    cubin: &'a [u8],
    function: CString,
}

impl<'a> KernelLines<'a> {
    /// `None` if the library cannot tell any.
    pub(crate) fn new(cupti: &CuptiLibrary, cubin: &'a [u8], symbol: &str) -> Option<Self> {
        Some(Self {
            // SAFETY: it takes this struct.
            ask: unsafe { cupti.symbol("cuptiGetSassToSourceCorrelation") }?,
            cubin,
            function: CString::new(symbol).ok()?,
        })
    }

    /// The file and the line of the instruction at `offset`; `None` if it has none.
    pub(crate) fn at(&self, offset: u64) -> Option<(String, u32)> {
        let mut parameters = SourceLine {
            bytes: size_of::<SourceLine>(),
            cubin: self.cubin.as_ptr().cast(),
            function: self.function.as_ptr(),
            cubin_bytes: self.cubin.len(),
            line: 0,
            offset,
            file: std::ptr::null_mut(),
            folder: std::ptr::null_mut(),
        };
        // SAFETY: code and name live until the function returns.
        let status = unsafe { (self.ask)(&raw mut parameters) };
        let (file, folder) = (taken(parameters.file), taken(parameters.folder));
        let file =
            file.filter(|file| status == SUCCESS && parameters.line > 0 && !file.is_empty())?;
        let path = match folder.filter(|folder| !folder.is_empty() && !file.starts_with('/')) {
            Some(folder) => format!("{folder}/{file}"),
            None => file,
        };
        Some((path, parameters.line))
    }
}

/// A text that the library has allocated for its caller.
fn taken(text: *mut c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: it is a NUL-terminated string.
    let copy = unsafe { CStr::from_ptr(text) };
    let copy = copy.to_string_lossy().into_owned();
    // SAFETY: it was allocated by malloc for this caller, and is freed once.
    unsafe { libc::free(text.cast()) };
    Some(copy)
}
