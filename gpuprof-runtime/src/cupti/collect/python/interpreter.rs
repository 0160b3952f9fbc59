//! The Python interpreter that is loaded into the program: what gpuprof calls of it, and where its
//! objects are.

use std::ffi::{c_int, c_ulong, c_void};

use libloading::os::unix::Library;

use super::layout::{DEBUG_OFFSETS, Layout, NoPythonFrames};

/// Functions that need neither the interpreter's lock nor a state of the thread.
#[derive(Debug)]
struct Functions {
    is_initialized: unsafe extern "C" fn() -> c_int,
    is_finalizing: unsafe extern "C" fn() -> c_int,
    this_thread_state: unsafe extern "C" fn() -> *mut c_void,
}

#[derive(Debug)]
pub(super) struct Interpreter {
    functions: Functions,
    pub(super) layout: Layout,
    pub(super) types: Types,
}

/// Where the types of objects are.
#[derive(Debug)]
pub(super) struct Types {
    pub(super) code: usize,
    pub(super) str: usize,
    pub(super) bytes: usize,
}

impl Interpreter {
    /// The interpreter that is loaded; `None` if there is none.
    pub(super) fn find() -> Option<Result<Self, NoPythonFrames>> {
        let program = Library::this();
        // Not called: it says that there is an interpreter, of any version.
        address(&program, b"PyGILState_GetThisThreadState\0")?;
        Some(Self::of(&program))
    }

    fn of(program: &Library) -> Result<Self, NoPythonFrames> {
        let layout = layout(program)?;
        Self::with_layout(program, layout).ok_or(NoPythonFrames::Layout)
    }

    fn with_layout(program: &Library, layout: Layout) -> Option<Self> {
        let is_finalizing = function(program, b"Py_IsFinalizing\0");
        Some(Self {
            functions: Functions {
                is_initialized: function(program, b"Py_IsInitialized\0")?,
                is_finalizing: is_finalizing
                    .or_else(|| function(program, b"_Py_IsFinalizing\0"))?,
                this_thread_state: function(program, b"PyGILState_GetThisThreadState\0")?,
            },
            layout,
            types: Types {
                code: address(program, b"PyCode_Type\0")?,
                str: address(program, b"PyUnicode_Type\0")?,
                bytes: address(program, b"PyBytes_Type\0")?,
            },
        })
    }

    /// The state of this thread, which may be without the lock; `None` if the interpreter has not
    /// met the thread, or does not run.
    pub(super) fn this_thread_state(&self) -> Option<usize> {
        // SAFETY: may be called at any time.
        let is_initialized = unsafe { (self.functions.is_initialized)() } != 0;
        // SAFETY: may be called at any time.
        let runs = is_initialized && unsafe { (self.functions.is_finalizing)() } == 0;
        if !runs {
            return None;
        }
        // SAFETY: reads a value of this thread; needs no lock.
        let state = unsafe { (self.functions.this_thread_state)() } as usize;
        (state != 0).then_some(state)
    }

    /// The address of a function of the interpreter.
    pub(super) fn address(&self) -> usize {
        self.functions.this_thread_state as usize
    }
}

fn layout(program: &Library) -> Result<Layout, NoPythonFrames> {
    let version = address(program, b"Py_Version\0").ok_or(NoPythonFrames::OlderVersion)?;
    // SAFETY: it is a constant of this type, of a library that is loaded.
    let version = unsafe { *(version as *const c_ulong) };
    let runtime = address(program, b"_PyRuntime\0").ok_or(NoPythonFrames::Layout)?;
    // SAFETY: the static structure is far larger in every version, and its start is constant in
    // those in which it is looked at.
    let debug_offsets = unsafe { &*(runtime as *const [u64; DEBUG_OFFSETS]) };
    Layout::of(version as usize, debug_offsets)
}

/// A function of the interpreter. `F` is a type of [`Functions`], as CPython declares it.
fn function<F: Copy>(program: &Library, name: &[u8]) -> Option<F> {
    // SAFETY: the callers ask for functions whose types are those of CPython's documentation.
    unsafe { program.get::<F>(name) }.ok().map(|symbol| *symbol)
}

/// Where something of the interpreter is.
fn address(program: &Library, name: &[u8]) -> Option<usize> {
    // SAFETY: the pointer is not used as one of any type here.
    let symbol = unsafe { program.get::<*mut c_void>(name) }.ok()?;
    Some(symbol.into_raw() as usize)
}
