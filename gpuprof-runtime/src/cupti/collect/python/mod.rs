//! The Python frames of a thread that launches, for `GPUPROF_STACKS=on` in an injected program.
//!
//! The thread has mostly released the interpreter's lock, so nothing of the interpreter may be
//! called that needs it. But its own frames, and the code that they run, do not change while it is
//! in our callback. They are read as bytes, from the thread's state on, without taking a reference.
//! Each read goes through the kernel, so that a wrong address is an error and no fault.

mod interpreter;
mod layout;
mod location_table;
pub(crate) mod locations;
mod objects;

use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use smallvec::SmallVec;

use self::interpreter::Interpreter;
use self::layout::{MAX_FRAME_BYTES, NoPythonFrames};
use self::locations::{CodePlace, LOCATIONS, LocationFrame};
use self::objects::{CodeCopies, CodeObject, ObjectError, Objects, word};
use super::stack_table::MAX_FRAMES;
use crate::os::modules;
use crate::os::own_memory::{MAX_PARTS, OwnMemory, ReadError};

/// The interpreter, once one was found.
static PYTHON: OnceLock<Python> = OnceLock::new();

#[derive(Debug)]
struct Python {
    interpreter: Result<Interpreter, NoPythonFrames>,
    /// The code of the interpreter.
    code: Range<usize>,
    /// Frames were read, so the layout is right.
    is_verified: AtomicBool,
    /// Why the first ones could not be read.
    failure: OnceLock<NoPythonFrames>,
}

/// The frames of this thread, innermost first, as a stack has them.
#[derive(Debug, Default)]
pub(super) struct PythonFrames(pub(super) SmallVec<[usize; MAX_FRAMES]>);

/// Looks for an interpreter. Not to be called from a callback, which must not wait for the loader.
pub(super) fn find() {
    if PYTHON.get().is_some() {
        return;
    }
    if let Some(interpreter) = Interpreter::find() {
        let address = interpreter.as_ref().map_or(0, Interpreter::address);
        // Fails if another thread was faster, with the same.
        let _ = PYTHON.set(Python {
            interpreter,
            code: modules::code_span(address),
            is_verified: AtomicBool::new(false),
            failure: OnceLock::new(),
        });
    }
}

/// The frames of this thread. None if it has none, or if they cannot be read.
pub(super) fn frames() -> PythonFrames {
    let Some(python) = PYTHON.get().filter(|python| python.failure.get().is_none()) else {
        return PythonFrames::default();
    };
    let Ok(interpreter) = &python.interpreter else {
        return PythonFrames::default();
    };
    let Some(state) = interpreter.this_thread_state() else {
        return PythonFrames::default();
    };
    let mut frames = PythonFrames::default();
    let ended = read(interpreter, state, &mut frames);
    if !frames.0.is_empty() {
        python.is_verified.store(true, Relaxed);
    } else if let Err(error) = ended
        && !python.is_verified.load(Relaxed)
    {
        // Fails if another thread had one, too.
        let _ = python.failure.set(match error {
            ObjectError::Unreadable(ReadError::Forbidden) => NoPythonFrames::Forbidden,
            _ => NoPythonFrames::Layout,
        });
    }
    frames
}

/// Whether this return address is in the interpreter: Python frames are in the place of its frames.
pub(super) fn is_interpreter(address: usize) -> bool {
    PYTHON.get().is_some_and(|of| of.code.contains(&address))
}

/// Where something of the interpreter is whose frames are read.
pub(crate) fn interpreter_address() -> Option<usize> {
    let interpreter = PYTHON.get()?.interpreter.as_ref().ok()?;
    Some(interpreter.address())
}

/// Why the frames of the program's Python are not read; `None` if they are, or without Python.
pub(crate) fn unavailable() -> Option<NoPythonFrames> {
    let python = PYTHON.get()?;
    let refused = python.interpreter.as_ref().err().copied();
    refused.or_else(|| python.failure.get().copied())
}

/// A call of a Python function that runs.
#[derive(Clone, Copy, Debug)]
struct RunningCall {
    code: usize,
    instruction: usize,
}

/// Below: a thread, a generator, and a frame object that has outlived its call. From it on: what
/// the interpreter puts between its own frames and those of C.
const FIRST_OTHER_OWNER: u8 = 3;

/// Bits of a frame's reference to its code that are no part of the address, from Python 3.14 on.
const CODE_TAGS: usize = 3;

/// Reads frames until there is no other one, there are enough, or one cannot be read.
fn read(
    interpreter: &Interpreter,
    state: usize,
    frames: &mut PythonFrames,
) -> Result<(), ObjectError> {
    let mut memory = OwnMemory::open();
    let mut calls = SmallVec::new();
    let ended = read_calls(interpreter, state, &mut memory, &mut calls);
    let objects = Objects {
        interpreter,
        memory: &memory,
    };
    for calls in calls.chunks(MAX_PARTS) {
        let addresses: SmallVec<[usize; MAX_PARTS]> = calls.iter().map(|call| call.code).collect();
        let mut copies = [0; size_of::<CodeCopies>()];
        let codes = objects.codes(&addresses, &mut copies)?;
        for (call, code) in calls.iter().zip(codes) {
            frames.0.extend(line(&objects, &code?, call.instruction));
        }
    }
    ended
}

/// Reads the calls of a thread, innermost first.
fn read_calls(
    interpreter: &Interpreter,
    state: usize,
    memory: &mut OwnMemory,
    calls: &mut SmallVec<[RunningCall; MAX_FRAMES]>,
) -> Result<(), ObjectError> {
    /// Frames of the interpreter that are no functions of Python are between them.
    const MAX_VISITED: usize = 2 * MAX_FRAMES;
    let layout = &interpreter.layout;
    let mut next = memory.word(state.wrapping_add(layout.state_frame))?;
    if let Some(offset) = layout.cframe_frame {
        next = memory.word(next.wrapping_add(offset))?;
    }
    for _ in 0..MAX_VISITED {
        if next == 0 || calls.len() == MAX_FRAMES {
            break;
        }
        let mut frame = [0; MAX_FRAME_BYTES];
        let read = frame.get_mut(..layout.frame.bytes());
        memory.read_nearby(next, read.ok_or(ObjectError::Unexpected)?)?;
        let field = |offset| word(&frame, offset).ok_or(ObjectError::Unexpected);
        let owner = frame.get(layout.frame.owner);
        if owner.is_some_and(|owner| *owner < FIRST_OTHER_OWNER) {
            calls.push(RunningCall {
                code: field(layout.frame.code)? & !CODE_TAGS,
                instruction: field(layout.frame.instruction)?,
            });
        }
        next = field(layout.frame.previous)?;
    }
    Ok(())
}

/// The frame of a stack for an instruction; `None` if the call has not begun.
fn line(objects: &Objects<'_>, code: &CodeObject<'_>, instruction: usize) -> Option<usize> {
    let place = CodePlace {
        code: code.address,
        content: Objects::content(code),
        unit: objects.unit(code, instruction)?,
    };
    let LocationFrame(frame) = match LOCATIONS.known(place) {
        Some(known) => known,
        None => LOCATIONS.insert(place, objects.location(code, place.unit).ok()),
    };
    Some(frame)
}

/// The end of a sentence about the lines of launches.
impl fmt::Display for NoPythonFrames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const KNOWN: &str = "gpuprof reads the frames of Python 3.11 to 3.15";
        match self {
            Self::OlderVersion => write!(f, "{KNOWN}, and this is an older one"),
            Self::Version(version) => {
                let (major, minor) = (version >> 24 & 0xff, version >> 16 & 0xff);
                write!(f, "{KNOWN}, and this is {major}.{minor}")
            }
            Self::FreeThreaded => f.write_str("this is a free-threaded build of Python"),
            Self::Layout => f.write_str("this build of Python has its frames in another layout"),
            Self::Forbidden => f.write_str("the system forbids process_vm_readv, which reads them"),
        }
    }
}
