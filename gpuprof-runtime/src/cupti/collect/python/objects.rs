//! Objects of the interpreter, copied out of it. Nothing is trusted but their types: each read is
//! checked and bounded.

use std::hash::Hasher;

use rustc_hash::FxHasher;

use super::interpreter::Interpreter;
use super::layout::{BYTES_DATA, MAX_CODE_BYTES, OBJECT_SIZE, OBJECT_TYPE, STR_LENGTH, STR_STATE};
use super::location_table;
use super::locations::PythonLocation;
use crate::os::own_memory::{MAX_PARTS, OwnMemory, ReadError};

/// Code points of a file's or a function's name.
const MAX_NAME: usize = 1 << 12;

/// Bytes of a location table, which has about 3 for each instruction.
const MAX_TABLE: usize = 1 << 20;

/// Why an object cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ObjectError {
    Unreadable(ReadError),
    /// It is not of the type that is expected, or larger than any real one.
    Unexpected,
}

impl From<ReadError> for ObjectError {
    fn from(error: ReadError) -> Self {
        Self::Unreadable(error)
    }
}

/// The interpreter and the memory of this process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Objects<'a> {
    pub(super) interpreter: &'a Interpreter,
    pub(super) memory: &'a OwnMemory,
}

/// Room for copies of as many code objects as are read at once.
pub(super) type CodeCopies = [u8; MAX_PARTS * MAX_CODE_BYTES];

/// A code object, up to the field that has its location table. Of it the interpreter changes the
/// reference count alone, which comes first.
#[derive(Debug)]
pub(super) struct CodeObject<'a> {
    pub(super) address: usize,
    bytes: &'a [u8],
}

impl<'a> Objects<'a> {
    /// The code objects at these addresses, at most [`MAX_PARTS`], up to the first that cannot be
    /// read.
    pub(super) fn codes(
        self,
        addresses: &'a [usize],
        copies: &'a mut CodeCopies,
    ) -> Result<impl Iterator<Item = Result<CodeObject<'a>, ObjectError>>, ObjectError> {
        let len = self.interpreter.layout.code.linetable + size_of::<usize>();
        let copies = copies.get_mut(..addresses.len() * len);
        let copies = copies.ok_or(ObjectError::Unexpected)?;
        let read = self.memory.read_parts(addresses, len, copies)?;
        let codes = addresses.iter().zip(copies.chunks(len)).take(read);
        Ok(codes.map(move |(address, bytes)| {
            self.check_type(bytes, self.interpreter.types.code)?;
            Ok(CodeObject {
                address: *address,
                bytes,
            })
        }))
    }

    /// A hash of what is fixed in a code object: where its names, constants and tables are, how
    /// many of what it has and, from Python 3.12 on, a number that no other one has.
    pub(super) fn content(code: &CodeObject<'_>) -> u64 {
        let mut hasher = FxHasher::default();
        hasher.write(code.bytes.get(OBJECT_TYPE..).unwrap_or_default());
        hasher.finish()
    }

    /// The code unit of an instruction at this address; `None` if it is not one of the code.
    pub(super) fn unit(&self, code: &CodeObject<'_>, instruction: usize) -> Option<usize> {
        const UNIT_BYTES: usize = 2;
        let first = code
            .address
            .checked_add(self.interpreter.layout.code.instructions)?;
        let unit = instruction.checked_sub(first)? / UNIT_BYTES;
        (unit < word(code.bytes, OBJECT_SIZE)?).then_some(unit)
    }

    /// The line of a code unit.
    pub(super) fn location(
        &self,
        code: &CodeObject<'_>,
        unit: usize,
    ) -> Result<PythonLocation, ObjectError> {
        let layout = &self.interpreter.layout.code;
        let object = |offset| word(code.bytes, offset).ok_or(ObjectError::Unexpected);
        let first_line = code.bytes.get(layout.first_line..layout.first_line + 4);
        let first_line =
            first_line.and_then(|bytes| Some(u32::from_ne_bytes(bytes.try_into().ok()?)));
        let table = self.bytes(object(layout.linetable)?)?;
        Ok(PythonLocation {
            file: self.text(object(layout.filename)?)?,
            function: self.text(object(layout.qualname)?)?,
            line: location_table::line_of(&table, first_line.unwrap_or_default(), unit),
        })
    }

    /// What an object of type `bytes` has.
    fn bytes(&self, address: usize) -> Result<Vec<u8>, ObjectError> {
        let mut head = [0; BYTES_DATA];
        self.memory.read(address, &mut head)?;
        self.check_type(&head, self.interpreter.types.bytes)?;
        let len = word(&head, OBJECT_SIZE).filter(|len| *len <= MAX_TABLE);
        let mut bytes = vec![0; len.ok_or(ObjectError::Unexpected)?];
        self.memory.read(address + BYTES_DATA, &mut bytes)?;
        Ok(bytes)
    }

    /// The text of an object of type `str`.
    fn text(&self, address: usize) -> Result<String, ObjectError> {
        let mut head = [0; STR_STATE + size_of::<usize>()];
        self.memory.read(address, &mut head)?;
        self.check_type(&head, self.interpreter.types.str)?;
        let length = word(&head, STR_LENGTH).filter(|length| *length <= MAX_NAME);
        let state = head.get(STR_STATE).copied();
        let (Some(length), Some(state)) = (length, state) else {
            return Err(ObjectError::Unexpected);
        };
        // Bits of the state: 2 of interning, 3 of the bytes of a code point, one that the text is
        // in the object itself, and one that it is ASCII.
        let (bytes, is_compact, is_ascii) = (state >> 2 & 7, state >> 5 & 1, state >> 6 & 1);
        let layout = &self.interpreter.layout;
        let data = match (is_compact, is_ascii) {
            (1, 1) => layout.ascii_data,
            (1, _) => layout.unicode_data,
            _ => return Err(ObjectError::Unexpected),
        };
        let mut text = vec![0; length * usize::from(bytes)];
        self.memory.read(address + data, &mut text)?;
        let points: Vec<u32> = match bytes {
            1 => text.into_iter().map(u32::from).collect(),
            2 => points(&text, |bytes| u16::from_ne_bytes(bytes).into()),
            4 => points(&text, u32::from_ne_bytes),
            _ => return Err(ObjectError::Unexpected),
        };
        let letters = points.into_iter().map(char::from_u32);
        // Bytes of a file's name that are no UTF-8 are surrogates.
        Ok(letters
            .map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect())
    }

    fn check_type(&self, object: &[u8], expected: usize) -> Result<(), ObjectError> {
        if word(object, OBJECT_TYPE) == Some(expected) {
            Ok(())
        } else {
            Err(ObjectError::Unexpected)
        }
    }
}

/// The word at an offset.
pub(super) fn word(bytes: &[u8], offset: usize) -> Option<usize> {
    let bytes = bytes.get(offset..)?.first_chunk()?;
    Some(usize::from_ne_bytes(*bytes))
}

/// Code points of `N` bytes each.
fn points<const N: usize>(text: &[u8], point: impl Fn([u8; N]) -> u32) -> Vec<u32> {
    text.as_chunks()
        .0
        .iter()
        .map(|bytes| point(*bytes))
        .collect()
}
