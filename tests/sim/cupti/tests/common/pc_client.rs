//! A client of PC sampling. Structs are arrays of 64-bit words, by the offsets of
//! `cupti_pcsampling.h`.

use std::ffi::{CStr, c_char};

use super::{address, call_words};

/// Of all stall reasons.
pub(crate) const REASONS: usize = 40;

/// Calls one of the functions whose only parameter is a context.
pub(crate) fn of_context(symbol: &str, context: u64) -> u32 {
    call_words(symbol, [24, 0, context]).0
}

pub(crate) fn enable(context: u64) -> u32 {
    of_context("cuptiPCSamplingEnable", context)
}

pub(crate) fn disable(context: u64) -> u32 {
    of_context("cuptiPCSamplingDisable", context)
}

/// Sets attributes, each with up to two words of data; returns the code and their statuses.
pub(crate) fn configure(context: u64, attributes: &[(u32, [u64; 2])]) -> (u32, Vec<u32>) {
    let words = |(kind, [first, second]): &(u32, [u64; 2])| {
        // The status is in the upper half.
        [u64::from(*kind) | 77 << 32, *first, *second, 0]
    };
    let mut attributes: Vec<[u64; 4]> = attributes.iter().map(words).collect();
    let (count, first) = (attributes.len() as u64, attributes.as_mut_ptr() as u64);
    let symbol = "cuptiPCSamplingSetConfigurationAttribute";
    let (code, _) = call_words(symbol, [40, 0, context, count, first]);
    let statuses = attributes.iter().map(|[head, ..]| (head >> 32) as u32);
    (code, statuses.collect())
}

/// The names of all stall reasons by their index.
pub(crate) fn stall_reasons(context: u64) -> Vec<String> {
    let mut count = 0_usize;
    let fields = [32, 0, context, &raw mut count as u64];
    assert_eq!(call_words("cuptiPCSamplingGetNumStallReasons", fields).0, 0);
    assert_eq!(count, REASONS);
    let mut indices = vec![u32::MAX; count];
    let mut texts = vec![[0x55_u8; 128]; count];
    let mut names: Vec<*mut u8> = texts.iter_mut().map(|text| text.as_mut_ptr()).collect();
    let arrays = [indices.as_mut_ptr() as u64, names.as_mut_ptr() as u64];
    let fields = [48, 0, context, count as u64, arrays[0], arrays[1]];
    assert_eq!(call_words("cuptiPCSamplingGetStallReasons", fields).0, 0);
    let mut by_index = vec![String::new(); count];
    for (index, text) in indices.iter().zip(&texts) {
        let name = CStr::from_bytes_until_nul(text).expect("it ends");
        by_index[*index as usize] = name.to_str().expect("it is ASCII").to_owned();
    }
    by_index
}

/// The index of a stall reason such as `long_scoreboard`.
pub(crate) fn index_of(context: u64, reason: &str) -> u32 {
    let name = format!("smsp__pcsamp_warps_issue_stalled_{reason}");
    let names = stall_reasons(context);
    let index = names.iter().position(|known| *known == name);
    index.expect("the device has it") as u32
}

/// What was collected for one instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pc {
    pub(crate) crc: u64,
    pub(crate) offset: u64,
    pub(crate) symbol: u32,
    pub(crate) function: String,
    /// Index and samples.
    pub(crate) reasons: Vec<(u32, u32)>,
    pub(crate) correlation: u32,
}

/// What a read has given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) pcs: Vec<Pc>,
    pub(crate) total: u64,
    pub(crate) dropped: u64,
    pub(crate) remaining: u64,
    pub(crate) range: u64,
    pub(crate) other: u64,
    pub(crate) is_full: bool,
}

impl Read {
    /// Offset, index and samples of all stall reasons of all instructions.
    pub(crate) fn samples(&self) -> Vec<(u64, u32, u32)> {
        let of = |pc: &Pc| {
            let reasons = pc.reasons.iter();
            let of_pc = reasons.map(|(index, samples)| (pc.offset, *index, *samples));
            of_pc.collect::<Vec<_>>()
        };
        self.pcs.iter().flat_map(of).collect()
    }
}

/// A `CUpti_PCSamplingData` with room for instructions.
pub(crate) struct Buffer {
    pub(crate) data: Box<[u64; 10]>,
    pub(crate) pcs: Vec<[u64; 8]>,
    _reasons: Vec<Vec<[u32; 2]>>,
}

impl Buffer {
    pub(crate) fn new(room: usize) -> Buffer {
        let mut reasons = vec![vec![[0; 2]; REASONS]; room];
        let pcs = reasons.iter_mut().map(|reasons| {
            let mut words = [0; 8];
            words[0] = 64;
            words[6] = reasons.as_mut_ptr() as u64;
            words
        });
        let mut pcs: Vec<[u64; 8]> = pcs.collect();
        let mut data = Box::new([0; 10]);
        data[0] = 80;
        data[1] = room as u64;
        data[7] = pcs.as_mut_ptr() as u64;
        Buffer {
            data,
            pcs,
            _reasons: reasons,
        }
    }

    /// Reads what has come; returns the code.
    pub(crate) fn fill(&mut self, context: u64) -> u32 {
        let fields = [32, 0, context, address(&*self.data)];
        call_words("cuptiPCSamplingGetData", fields).0
    }

    /// What the library has written.
    pub(crate) fn content(&self) -> Read {
        let [
            _,
            _,
            total,
            dropped,
            count,
            remaining,
            range,
            _,
            other,
            full,
        ] = *self.data;
        let pcs = self.pcs[..count as usize].iter().map(|words| {
            let [
                size,
                crc,
                offset,
                symbol,
                function,
                reasons,
                first,
                correlation,
            ] = *words;
            assert_eq!(size, 64, "it is the client's");
            // SAFETY: the library gives a NUL-terminated text.
            let function = unsafe { CStr::from_ptr(function as *const c_char) };
            let first = first as *const [u32; 2];
            // SAFETY: the library has written so many.
            let reasons = unsafe { std::slice::from_raw_parts(first, reasons as usize) };
            Pc {
                crc,
                offset,
                symbol: symbol as u32,
                function: function.to_str().expect("it is UTF-8").to_owned(),
                reasons: reasons.iter().map(|[index, n]| (*index, *n)).collect(),
                correlation: correlation as u32,
            }
        });
        Read {
            pcs: pcs.collect(),
            total,
            dropped,
            remaining,
            range,
            other,
            is_full: full as u8 != 0,
        }
    }
}

/// Reads what has come for a context, with room for `room` instructions.
pub(crate) fn read(context: u64, room: usize) -> Read {
    let mut buffer = Buffer::new(room);
    assert_eq!(buffer.fill(context), 0);
    buffer.content()
}
