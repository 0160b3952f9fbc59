//! The parameters of PC sampling, and of what is asked about images (`cupti_pcsampling.h` of CUDA
//! 13.0). Every raw pointer in them is read and written here.

use std::collections::BTreeMap;
use std::ffi::{CString, c_char, c_void};
use std::sync::{Mutex, PoisonError};

use crate::parameters::{Name, Sizes, parameters, structs};
use crate::pc_samples::{Collected, PcSamples};
use crate::result_codes::{Answer, Code};
use crate::stall_model;

/// `CUPTI_STALL_REASON_STRING_SIZE`.
const REASON_BYTES: usize = 128;

parameters! {
    /// Of enable, disable, start and stop.
    OfContext [24] => {
        context: u64,
    }

    Configuration [40] => {
        context: u64,
        count: usize,
        attributes: *mut AttributeInfo,
    }

    ReasonCount [32] => {
        context: u64,
        count: *mut usize,
    }

    Reasons [48] => {
        context: u64,
        count: usize,
        indices: *mut u32,
        names: *mut *mut c_char,
    }

    GetData [32] => {
        context: u64,
        data: DataBuffer,
    }
}

structs! {
    CubinCrc [32] => {
        bytes: usize,
        cubin: *const u8,
        crc: u64,
    }

    SourceLine [64] => {
        cubin: *const u8,
        function: Name,
        bytes: usize,
        line: u32,
        offset: u64,
        file: *mut c_char,
        folder: *mut c_char,
    }

    /// `CUpti_PCSamplingData`: the size of its last field, or with padding.
    Data [73, 80] => {
        room: usize,
        total_samples: u64,
        dropped_samples: u64,
        total_pcs: usize,
        remaining_pcs: usize,
        range: u64,
        pcs: *mut PcData,
        other_samples: u64,
        is_full: u8,
    }

    /// `CUpti_PCSamplingPCData`: the size of its last field, or with padding.
    PcData [60, 64] => {
        crc: u64,
        offset: u64,
        symbol: u32,
        pad: u32,
        function: *mut c_char,
        reason_count: usize,
        reasons: *mut [u32; 2],
        correlation: u32,
    }
}

/// One attribute of the configuration. Those that change nothing here are only checked.
pub(crate) enum Attribute {
    StallReasons(Vec<u32>),
    Period(u32),
    StartStopControl(bool),
    DataBuffer(DataBuffer),
    WithoutEffect,
}

/// `CUpti_PCSamplingConfigurationInfo`.
#[repr(C)]
pub(crate) struct AttributeInfo {
    kind: u32,
    status: u32,
    value: [u64; 3],
}

impl AttributeInfo {
    /// Reads and checks the attribute: INVALID_PARAMETER for an unknown one, INVALID_OPERATION for
    /// a bad value, NOT_SUPPORTED for serialized kernels.
    pub(crate) fn read(&self) -> Answer<Attribute> {
        // The lower half of a word is a field of 32 bits.
        let [word, second, _] = self.value;
        let half = word as u32;
        let is_valid = match self.kind {
            1 if (5..=31).contains(&half) => return Ok(Attribute::Period(half)),
            1 => false,
            2 => return Ok(Attribute::StallReasons(reasons(word, second)?)),
            3 | 4 => word > 0,
            5 if half == 2 => return Err(Code::NOT_SUPPORTED),
            5 | 7 => half == 1,
            6 if half < 2 => return Ok(Attribute::StartStopControl(half == 1)),
            6 => false,
            8 => {
                let mut buffer = DataBuffer(word as *mut Data);
                buffer.check().map_err(|_| Code::INVALID_OPERATION)?;
                return Ok(Attribute::DataBuffer(buffer));
            }
            9 => half > 0,
            _ => return Err(Code::INVALID_PARAMETER),
        };
        if is_valid {
            Ok(Attribute::WithoutEffect)
        } else {
            Err(Code::INVALID_OPERATION)
        }
    }

    pub(crate) fn set_status(&mut self, answer: Answer) {
        self.status = answer.err().map_or(0, |code| code.0);
    }
}

fn reasons(count: u64, first: u64) -> Answer<Vec<u32>> {
    let first = first as *const u32;
    if first.is_null() {
        return Err(Code::INVALID_OPERATION);
    }
    // SAFETY: the caller passes an array of so many indices.
    let indices = unsafe { std::slice::from_raw_parts(first, count as usize) };
    stall_model::checked(indices)
}

impl Configuration {
    /// INVALID_PARAMETER for none.
    pub(crate) fn attributes(&mut self) -> Answer<&mut [AttributeInfo]> {
        if self.attributes.is_null() || self.count == 0 {
            return Err(Code::INVALID_PARAMETER);
        }
        // SAFETY: the caller passes an array of so many attributes.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.attributes, self.count) })
    }
}

impl ReasonCount {
    pub(crate) fn write(&self, count: usize) -> Answer {
        if self.count.is_null() {
            return Err(Code::INVALID_PARAMETER);
        }
        // SAFETY: the caller passes null or the address of a count.
        unsafe { self.count.write(count) };
        Ok(())
    }
}

impl Reasons {
    /// Writes all stall reasons; INVALID_PARAMETER if there is no room for them.
    pub(crate) fn write(&self) -> Answer {
        let is_null = self.indices.is_null() || self.names.is_null();
        if is_null || self.count < stall_model::COUNT {
            return Err(Code::INVALID_PARAMETER);
        }
        // SAFETY: the caller passes arrays of so many names and indices.
        let names = unsafe { std::slice::from_raw_parts(self.names, stall_model::COUNT) };
        // SAFETY: as above.
        let indices = unsafe { std::slice::from_raw_parts_mut(self.indices, stall_model::COUNT) };
        for (number, (place, index)) in names.iter().zip(indices).enumerate() {
            if place.is_null() {
                return Err(Code::INVALID_PARAMETER);
            }
            let mut name = stall_model::name(number).into_bytes();
            name.resize(REASON_BYTES, 0);
            // SAFETY: each name is the address of so many bytes.
            unsafe { std::ptr::copy_nonoverlapping(name.as_ptr(), place.cast(), REASON_BYTES) };
            *index = number as u32;
        }
        Ok(())
    }
}

impl CubinCrc {
    /// INVALID_PARAMETER for none.
    pub(crate) fn image(&self) -> Answer<&[u8]> {
        image(self.cubin, self.bytes)
    }
}

impl SourceLine {
    /// The image and the function; INVALID_PARAMETER for none.
    pub(crate) fn question(&self) -> Answer<(&[u8], &str)> {
        let function = self.function.text().ok_or(Code::INVALID_PARAMETER)?;
        Ok((image(self.cubin, self.bytes)?, function))
    }

    /// The caller frees both texts.
    pub(crate) fn set_line(&mut self, path: &str, line: u32) {
        let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
        self.line = line;
        self.file = new_text(file);
        self.folder = new_text(folder);
    }

    pub(crate) fn set_unknown(&mut self) {
        self.line = 0;
        self.file = std::ptr::null_mut();
        self.folder = std::ptr::null_mut();
    }
}

fn image<'a>(first: *const u8, bytes: usize) -> Answer<&'a [u8]> {
    if first.is_null() || bytes == 0 {
        return Err(Code::INVALID_PARAMETER);
    }
    // SAFETY: the caller passes an image of so many bytes.
    Ok(unsafe { std::slice::from_raw_parts(first, bytes) })
}

/// A copy of `text` that is to be freed by `free`.
fn new_text(text: &str) -> *mut c_char {
    let text = CString::new(text).unwrap_or_default();
    // SAFETY: it is a NUL-terminated text.
    unsafe { libc::strdup(text.as_ptr()) }
}

/// The address of the name of each function, by its name.
static NAMES: Mutex<BTreeMap<&'static str, usize>> = Mutex::new(BTreeMap::new());

/// The name of a function, shared by all records of it until [`renew_names`].
fn shared_name(function: &'static str) -> *mut c_char {
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let name = names.entry(function);
    *name.or_insert_with(|| new_text(function) as usize) as *mut c_char
}

/// The client may have freed the names of earlier records.
pub(crate) fn renew_names() {
    NAMES.lock().unwrap_or_else(PoisonError::into_inner).clear();
}

/// The caller's `CUpti_PCSamplingData`.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct DataBuffer(*mut Data);

// SAFETY: only the address crosses threads; the client does not use the buffer during the calls
// that write it.
unsafe impl Send for DataBuffer {}

impl DataBuffer {
    fn data(&mut self) -> Answer<&mut Data> {
        // SAFETY: the caller passes null or the address of its data.
        let data = unsafe { self.0.as_mut() }.ok_or(Code::INVALID_PARAMETER)?;
        if Data::SIZES.contains(&data.size()) {
            Ok(data)
        } else {
            Err(Code::INVALID_PARAMETER)
        }
    }

    /// For how many instructions it has room.
    pub(crate) fn room(&self) -> Answer<usize> {
        Ok({ *self }.data()?.room)
    }

    /// INVALID_PARAMETER for a wrong size, also of the data of an instruction, and for data of an
    /// instruction without room for stall reasons.
    pub(crate) fn check(&mut self) -> Answer {
        let is_good = |pc: &PcData| PcData::SIZES.contains(&pc.size()) && !pc.reasons.is_null();
        if self.data()?.pcs()?.iter().all(is_good) {
            Ok(())
        } else {
            Err(Code::INVALID_PARAMETER)
        }
    }

    /// Writes what was collected, for which [`Self::check`] has found room.
    pub(crate) fn write(&mut self, collected: &Collected) -> Answer {
        let data = self.data()?;
        data.total_samples = collected.total;
        data.dropped_samples = collected.dropped;
        data.total_pcs = collected.pcs.len();
        data.remaining_pcs = collected.remaining;
        data.range = collected.range;
        data.other_samples = collected.other;
        data.is_full = u8::from(collected.is_full);
        for (place, samples) in data.pcs()?.iter_mut().zip(&collected.pcs) {
            place.write(samples);
        }
        Ok(())
    }
}

impl Data {
    fn pcs(&mut self) -> Answer<&mut [PcData]> {
        if self.room == 0 {
            return Ok(&mut []);
        }
        if self.pcs.is_null() {
            return Err(Code::INVALID_PARAMETER);
        }
        // SAFETY: the caller passes room for so many instructions.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.pcs, self.room) })
    }
}

impl PcData {
    fn write(&mut self, samples: &PcSamples) {
        self.crc = samples.checksum;
        self.offset = samples.offset;
        self.symbol = samples.symbol;
        self.function = shared_name(samples.function);
        self.reason_count = samples.reasons.len();
        self.correlation = 0;
        for (at, (index, count)) in samples.reasons.iter().enumerate() {
            let place = self.reasons.wrapping_add(at);
            // SAFETY: the caller passes room for all stall reasons that it asked for.
            unsafe { place.write([*index, *count]) };
        }
    }
}
