//! Where the interpreter's objects have their fields, by its version.
//!
//! Python from 3.13 on says it itself, in `_Py_DebugOffsets` at the start of `_PyRuntime`. For the
//! versions before, the offsets are those of their headers.

/// An interpreter whose frames cannot be read, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoPythonFrames {
    /// Before 3.11, which does not say its version in memory.
    OlderVersion,
    /// `Py_Version` of a version that is not known.
    Version(usize),
    FreeThreaded,
    /// Its objects are not where those of its version are.
    Layout,
    /// The system forbids reading memory by `process_vm_readv`.
    Forbidden,
}

/// Of each object: its type.
pub(super) const OBJECT_TYPE: usize = 8;

/// Of a code object, and of bytes: how many code units, or bytes.
pub(super) const OBJECT_SIZE: usize = 16;

/// Of `str`: its length in code points, and the bits that say how these are stored.
pub(super) const STR_LENGTH: usize = 16;
pub(super) const STR_STATE: usize = 32;

/// Of `bytes`: the first one.
pub(super) const BYTES_DATA: usize = 32;

/// The most bytes of a frame, and of a code object, that are read.
pub(super) const MAX_FRAME_BYTES: usize = 128;
pub(super) const MAX_CODE_BYTES: usize = 256;

/// The words of `_Py_DebugOffsets` that are read.
pub(super) const DEBUG_OFFSETS: usize = 93;

/// Offsets in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Of a thread's state: its current frame, or the structure that has it.
    pub(super) state_frame: usize,
    /// Of that structure: the current frame.
    pub(super) cframe_frame: Option<usize>,
    pub(super) frame: FrameLayout,
    pub(super) code: CodeLayout,
    /// Where the characters of a `str` begin that is ASCII, and of any other one.
    pub(super) ascii_data: usize,
    pub(super) unicode_data: usize,
}

/// Of a frame of the interpreter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameLayout {
    pub(super) code: usize,
    /// The frame that called this one.
    pub(super) previous: usize,
    /// The address of the instruction that runs, or of a unit of it.
    pub(super) instruction: usize,
    /// The byte that says whose it is.
    pub(super) owner: usize,
}

/// Of a code object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CodeLayout {
    pub(super) first_line: usize,
    pub(super) filename: usize,
    pub(super) qualname: usize,
    pub(super) linetable: usize,
    /// The first instruction.
    pub(super) instructions: usize,
}

const PYTHON_3_11: Layout = Layout {
    state_frame: 56,
    cframe_frame: Some(8),
    frame: FrameLayout {
        code: 32,
        previous: 48,
        instruction: 56,
        owner: 69,
    },
    code: CodeLayout {
        first_line: 72,
        filename: 112,
        qualname: 128,
        linetable: 136,
        instructions: 184,
    },
    ascii_data: 48,
    unicode_data: 72,
};

const PYTHON_3_12: Layout = Layout {
    state_frame: 56,
    cframe_frame: Some(0),
    frame: FrameLayout {
        code: 0,
        previous: 8,
        instruction: 56,
        owner: 70,
    },
    code: CodeLayout {
        first_line: 68,
        filename: 112,
        qualname: 128,
        linetable: 136,
        instructions: 192,
    },
    ascii_data: 40,
    unicode_data: 56,
};

/// Which words of `_Py_DebugOffsets` are of what: that of a thread's current frame, and of each
/// structure the first, its size.
struct DebugOffsets {
    state_frame: usize,
    frame: usize,
    code: usize,
    object: usize,
    bytes: usize,
    text: usize,
}

const OFFSETS_3_13: DebugOffsets = DebugOffsets {
    state_frame: 23,
    frame: 28,
    code: 34,
    object: 44,
    bytes: 64,
    text: 67,
};

const OFFSETS_3_14: DebugOffsets = DebugOffsets {
    state_frame: 26,
    frame: 31,
    code: 39,
    object: 50,
    bytes: 74,
    text: 77,
};

const OFFSETS_3_15: DebugOffsets = DebugOffsets {
    state_frame: 26,
    frame: 39,
    code: 47,
    object: 58,
    bytes: 86,
    text: 89,
};

impl DebugOffsets {
    fn layout(
        &self,
        version: usize,
        words: &[u64; DEBUG_OFFSETS],
    ) -> Result<Layout, NoPythonFrames> {
        let [cookie, of_version, free_threaded, ..] = *words;
        if cookie.to_ne_bytes() != *b"xdebugpy" || of_version != version as u64 {
            return Err(NoPythonFrames::Layout);
        }
        if free_threaded != 0 {
            return Err(NoPythonFrames::FreeThreaded);
        }
        let at = |index: usize| words.get(index).map_or(usize::MAX, |word| *word as usize);
        let ascii_data = at(self.text + 3);
        let layout = Layout {
            state_frame: at(self.state_frame),
            cframe_frame: None,
            frame: FrameLayout {
                previous: at(self.frame + 1),
                code: at(self.frame + 2),
                instruction: at(self.frame + 3),
                owner: at(self.frame + 5),
            },
            code: CodeLayout {
                filename: at(self.code + 1),
                qualname: at(self.code + 3),
                linetable: at(self.code + 4),
                first_line: at(self.code + 5),
                instructions: at(self.code + 9),
            },
            ascii_data,
            // After the ASCII part: the size and address of the text as UTF-8.
            unicode_data: ascii_data.saturating_add(16),
        };
        let constants = [
            at(self.object + 1),
            at(self.bytes + 1),
            at(self.bytes + 2),
            at(self.text + 1),
            at(self.text + 2),
        ];
        let expected = [OBJECT_TYPE, OBJECT_SIZE, BYTES_DATA, STR_STATE, STR_LENGTH];
        if constants == expected && layout.is_bounded() {
            Ok(layout)
        } else {
            Err(NoPythonFrames::Layout)
        }
    }
}

impl FrameLayout {
    /// The bytes to read. No more, because a frame may be the last thing in mapped memory.
    pub(super) fn bytes(&self) -> usize {
        let last_word = self.code.max(self.previous).max(self.instruction);
        (last_word + size_of::<usize>()).max(self.owner + 1)
    }
}

impl Layout {
    /// Of the interpreter with this `Py_Version`, and with these words at the start of
    /// `_PyRuntime`.
    pub(super) fn of(
        version: usize,
        debug_offsets: &[u64; DEBUG_OFFSETS],
    ) -> Result<Self, NoPythonFrames> {
        /// The first of the levels of a release whose layout is final: a candidate.
        const CANDIDATE: usize = 0xc;
        if version >> 4 & 0xf < CANDIDATE {
            return Err(NoPythonFrames::Version(version));
        }
        match version >> 16 {
            0x030b => Ok(PYTHON_3_11),
            0x030c => Ok(PYTHON_3_12),
            0x030d => OFFSETS_3_13.layout(version, debug_offsets),
            0x030e => OFFSETS_3_14.layout(version, debug_offsets),
            0x030f => OFFSETS_3_15.layout(version, debug_offsets),
            _ => Err(NoPythonFrames::Version(version)),
        }
    }

    /// Whether all fields are within what is read.
    fn is_bounded(&self) -> bool {
        /// A thread's state, and a code object with its instructions, may be larger than what is
        /// read of them.
        const MAX_OFFSET: usize = 1 << 12;
        let word = size_of::<usize>();
        let FrameLayout {
            code,
            previous,
            instruction,
            owner,
        } = self.frame;
        let of_frame = [code, previous, instruction, owner];
        let of_code = [self.code.first_line, self.code.filename, self.code.qualname];
        of_frame
            .iter()
            .all(|offset| *offset <= MAX_FRAME_BYTES - word)
            && of_code.iter().all(|offset| *offset < self.code.linetable)
            && self.code.linetable <= MAX_CODE_BYTES - word
            && self.state_frame < MAX_OFFSET
            && self.code.instructions < MAX_OFFSET
            && self.ascii_data < MAX_OFFSET
    }
}

#[cfg(test)]
mod tests {
    use super::{DEBUG_OFFSETS, Layout, NoPythonFrames, PYTHON_3_11, PYTHON_3_12};

    const VERSION: usize = 0x030d_00f0;

    /// What Python 3.13.0 has at the start of `_PyRuntime` on a machine of 64 bits.
    fn debug_offsets() -> [u64; DEBUG_OFFSETS] {
        let mut words = words_of(VERSION);
        words[23] = 72;
        words[28..34].copy_from_slice(&[88, 8, 0, 56, 72, 70]);
        words[34..44].copy_from_slice(&[208, 112, 120, 128, 136, 68, 52, 96, 104, 200]);
        (words[45], words[65], words[66]) = (8, 16, 32);
        words[67..71].copy_from_slice(&[64, 32, 16, 40]);
        words
    }

    fn words_of(version: usize) -> [u64; DEBUG_OFFSETS] {
        let mut words = [0; DEBUG_OFFSETS];
        words[0] = u64::from_ne_bytes(*b"xdebugpy");
        words[1] = version as u64;
        words
    }

    #[test]
    fn older_versions_are_in_the_table_and_later_ones_say_their_own_layout() {
        let none = [0; DEBUG_OFFSETS];
        assert_eq!(Layout::of(0x030b_07f0, &none), Ok(PYTHON_3_11));
        assert_eq!(Layout::of(0x030c_00c1, &none), Ok(PYTHON_3_12));
        let mut expected = PYTHON_3_12;
        (expected.state_frame, expected.cframe_frame) = (72, None);
        expected.code.instructions = 200;
        assert_eq!(Layout::of(VERSION, &debug_offsets()), Ok(expected));
        // Those of 3.14.10 and 3.15.2.
        expected.frame.owner = 74;
        expected.code.instructions = 208;
        for (version, at) in [(0x030e_0af0, 31), (0x030f_02f0, 39)] {
            let mut words = words_of(version);
            words[26] = 72;
            words[at..at + 8].copy_from_slice(&[88, 8, 0, 56, 80, 74, 64, 0]);
            let code = [216, 112, 120, 128, 136, 68, 52, 96, 104, 208, 0, 16, 8];
            words[at + 8..at + 21].copy_from_slice(&code);
            let (bytes, text) = if at == 31 { (74, 77) } else { (86, 89) };
            words[bytes..bytes + 3].copy_from_slice(&[40, 16, 32]);
            words[text..text + 4].copy_from_slice(&[64, 32, 16, 40]);
            assert_eq!(Layout::of(version, &words), Ok(expected));
        }
    }

    #[test]
    fn what_is_not_known_or_does_not_fit_is_refused() {
        for version in [0x030a_0df0, 0x0310_00f0, 0x030c_00a7, 0x030d_00b1, 0] {
            let refused = Err(NoPythonFrames::Version(version));
            assert_eq!(Layout::of(version, &debug_offsets()), refused);
        }
        let refused_with = |at: usize, word: u64| {
            let mut words = debug_offsets();
            words[at] = word;
            Layout::of(VERSION, &words).expect_err("a wrong word")
        };
        assert_eq!(refused_with(2, 1), NoPythonFrames::FreeThreaded);
        for (at, word) in [
            (0, 0),
            (1, 0x030d_01f0),
            (69, 24),
            (29, 1 << 40),
            (38, 300),
            (39, 144),
        ] {
            assert_eq!(refused_with(at, word), NoPythonFrames::Layout, "{at}");
        }
    }
}
