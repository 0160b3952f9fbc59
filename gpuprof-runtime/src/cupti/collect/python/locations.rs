//! The lines of Python that were seen in stacks, by number, and how a stack holds them.

use std::sync::Arc;

use parking_lot::Mutex;
use rustc_hash::{FxBuildHasher, FxHashMap};

/// Distinct lines of Python: a few MiB. Further ones are not known.
pub(super) const MAX_LOCATIONS: usize = 1 << 14;

/// Places in code objects that are told apart. A program that makes code again and again begins
/// anew.
const MAX_PLACES: usize = 1 << 14;

/// Marks a frame of a stack as one of Python: no return address has this bit.
const PYTHON: usize = 1 << (usize::BITS - 1);

/// A line of a Python function.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PythonLocation {
    pub(crate) file: String,
    /// Its qualified name: `Trainer.step`.
    pub(crate) function: String,
    /// `None` of an instruction without a line.
    pub(crate) line: Option<u32>,
}

/// An instruction, as the callback sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct CodePlace {
    /// Where the code object is. Another one may be there later.
    pub(super) code: usize,
    /// A hash of what is fixed in the code object.
    pub(super) content: u64,
    /// The code unit of the instruction.
    pub(super) unit: usize,
}

/// The number of a [`PythonLocation`] as a frame of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LocationFrame(pub(super) usize);

impl LocationFrame {
    /// A frame of which nothing is known.
    pub(super) const UNKNOWN: Self = Self(usize::MAX);
}

/// All lines of the process.
pub(crate) static LOCATIONS: LocationTable = LocationTable::new();

#[derive(Debug)]
pub(crate) struct LocationTable(Mutex<NumberedLocations>);

#[derive(Debug)]
struct NumberedLocations {
    places: FxHashMap<CodePlace, LocationFrame>,
    frames: FxHashMap<Arc<PythonLocation>, LocationFrame>,
    list: Vec<Arc<PythonLocation>>,
}

impl LocationTable {
    const fn new() -> Self {
        Self(Mutex::new(NumberedLocations {
            places: FxHashMap::with_hasher(FxBuildHasher),
            frames: FxHashMap::with_hasher(FxBuildHasher),
            list: Vec::new(),
        }))
    }

    /// The frame of a place that was seen before.
    pub(super) fn known(&self, place: CodePlace) -> Option<LocationFrame> {
        self.0.lock().places.get(&place).copied()
    }

    /// The frame of a place that is new; `location` is `None` if it cannot be read.
    pub(super) fn insert(
        &self,
        place: CodePlace,
        location: Option<PythonLocation>,
    ) -> LocationFrame {
        let mut table = self.0.lock();
        let NumberedLocations {
            places,
            frames,
            list,
        } = &mut *table;
        let frame = location.map(Arc::new).and_then(|location| {
            if let Some(known) = frames.get(&location) {
                return Some(*known);
            }
            let frame = LocationFrame(PYTHON | list.len());
            (list.len() < MAX_LOCATIONS).then(|| {
                frames.insert(Arc::clone(&location), frame);
                list.push(location);
                frame
            })
        });
        let frame = frame.unwrap_or(LocationFrame::UNKNOWN);
        if places.len() >= MAX_PLACES {
            places.clear();
        }
        places.insert(place, frame);
        frame
    }

    /// What a frame of Python is; `None` if that is not known.
    pub(crate) fn location(&self, frame: usize) -> Option<Arc<PythonLocation>> {
        self.0.lock().list.get(frame & !PYTHON).cloned()
    }
}

/// The frames of a stack that are native, and those of Python, which follow: both from the
/// innermost on.
pub(crate) fn split(frames: &[usize]) -> (&[usize], &[usize]) {
    let native = frames.iter().take_while(|frame| **frame & PYTHON == 0);
    frames.split_at(native.count())
}

#[cfg(test)]
mod tests {
    use super::{
        CodePlace, LocationFrame, LocationTable, MAX_LOCATIONS, MAX_PLACES, PythonLocation, split,
    };

    fn place(code: usize) -> CodePlace {
        CodePlace {
            code,
            content: 1,
            unit: 2,
        }
    }

    fn location(line: usize) -> Option<PythonLocation> {
        Some(PythonLocation {
            file: "/app/train.py".to_owned(),
            function: "main".to_owned(),
            line: u32::try_from(line).ok(),
        })
    }

    #[test]
    fn equal_lines_of_different_code_are_one_and_the_table_is_bounded() {
        let table = LocationTable::new();
        let first = table.insert(place(1), location(10));
        assert_eq!(table.insert(place(2), location(10)), first);
        assert_eq!(table.known(place(2)), Some(first));
        // Another code object at the same address.
        let mut other = place(2);
        other.content += 1;
        assert_eq!(table.known(other), None);
        assert_ne!(table.insert(other, location(11)), first);
        for line in 12..MAX_LOCATIONS + 10 {
            assert_ne!(
                table.insert(place(line), location(line)),
                LocationFrame::UNKNOWN
            );
        }
        assert_eq!(table.insert(place(0), location(7)), LocationFrame::UNKNOWN);
        assert_eq!(table.insert(place(0), None), LocationFrame::UNKNOWN);
        assert_eq!(table.insert(place(3), location(10)), first);
        assert!(table.0.lock().places.len() <= MAX_PLACES);
        assert_eq!(table.location(first.0).as_deref(), location(10).as_ref());
        assert_eq!(table.location(LocationFrame::UNKNOWN.0), None);
    }

    #[test]
    fn frames_of_python_follow_the_native_ones() {
        let python = [
            LocationTable::new().insert(place(1), location(1)).0,
            usize::MAX,
        ];
        let stack = [0x7f00, 1, python[0], python[1]];
        assert_eq!(split(&stack), (&stack[..2], &python[..]));
        assert_eq!(split(&stack[..2]), (&stack[..2], &[][..]));
    }
}
