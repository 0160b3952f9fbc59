//! Sampling in one context: starts it, and reads what the device has stored.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_void};
use std::ptr;

use super::bindings::{
    Attribute, CONTINUOUS, Configure, Disable, Enable, GetData, OUT_OF_MEMORY, PcData, PcRecord,
    REASON_BYTES, ReasonCount, ReasonSamples, Reasons, Start, Stop, attribute,
};
use super::library::PcSamplingLibrary;
use super::samples::{PcSamples, SampledPc};
use crate::cupti::collect::library::CallError;
use parking_lot::Mutex;

/// The logarithm of the cycles of a multiprocessor between two samples, at first. A busy H100 takes
/// 56 samples per µs with it, of which libcupti decodes 20 to 35. With 13 and 14 those of regular
/// loops were of the same places: a loop of multiplications in double precision waited for its unit
/// in 26 % of them, and with 9 to 12 in 40 %, as in Nsight Compute.
pub(super) const FIRST_PERIOD: u64 = 12;
/// What is added to it each time that a device's buffer was full, and the most: an H100 then takes
/// 0.1 samples per µs.
const LONGER: u64 = 3;
const LAST_PERIOD: u64 = 21;
/// Program counters that are read at once.
const ROOM: usize = 4096;
/// Memory of CUPTI's for what it has read from the device, bytes: 16 for each reason of a program
/// counter.
const SCRATCH_BYTES: u64 = 16 << 20;
/// The reasons of warps that could not be issued are these, and again, with this ending, those of
/// cycles in which no other warp could be either.
const NOT_ISSUED: &str = "_not_issued";
/// What all names begin with.
const PREFIX: &str = "smsp__pcsamp_warps_issue_stalled_";

/// What CUPTI writes its records into.
struct Room {
    data: Box<PcData>,
    records: Vec<PcRecord>,
    _reasons: Vec<ReasonSamples>,
}

impl Room {
    fn new(reasons: usize) -> Self {
        let mut all = vec![ReasonSamples::default(); ROOM * reasons];
        let each = all.chunks_exact_mut(reasons.max(1));
        let mut records: Vec<PcRecord> = each
            .map(|reasons| PcRecord {
                bytes: size_of::<PcRecord>(),
                cubin_crc: 0,
                offset: 0,
                function_index: 0,
                padding: 0,
                function: ptr::null(),
                reason_count: 0,
                reasons: reasons.as_mut_ptr(),
                correlation: 0,
            })
            .collect();
        let data = Box::new(PcData {
            bytes: size_of::<PcData>(),
            room: records.len(),
            total_samples: 0,
            dropped_samples: 0,
            records: 0,
            remaining: 0,
            range: 0,
            first: records.as_mut_ptr(),
            other_samples: 0,
            is_hardware_buffer_full: 0,
        });
        Self {
            data,
            records,
            _reasons: all,
        }
    }

    /// Moves what was written into `samples`. Returns how many records that were.
    fn take(&mut self, reasons: &ReasonNames, samples: &mut PcSamples) -> usize {
        let written = std::mem::take(&mut self.data.records);
        for record in self.records.iter().take(written) {
            if record.function.is_null() {
                continue;
            }
            // SAFETY: CUPTI has written the address of a string, which all records of the function
            // share, those of activities included. It is never freed.
            let function = unsafe { CStr::from_ptr(record.function) };
            let count = record.reason_count.min(reasons.len());
            // SAFETY: there is room for so many, of which CUPTI has written these.
            let counts = unsafe { std::slice::from_raw_parts(record.reasons, count) };
            samples.add(
                SampledPc {
                    cubin_crc: record.cubin_crc,
                    function,
                    offset: record.offset,
                },
                counts
                    .iter()
                    .filter_map(|of| Some((*reasons.get(&of.reason)?, u64::from(of.samples)))),
            );
        }
        samples.dropped += std::mem::take(&mut self.data.dropped_samples);
        samples.other += std::mem::take(&mut self.data.other_samples);
        written
    }
}

/// The names of the reasons that are asked for, by their indices.
type ReasonNames = BTreeMap<u32, &'static str>;

pub(super) struct ContextSampler {
    library: &'static PcSamplingLibrary,
    context: *mut c_void,
    is_enabled: bool,
    /// The logarithm of the cycles between two samples.
    period: u64,
    /// The device's buffer was full. parcagpu, which uses this interface too, found that it has no
    /// more samples then, until sampling is disabled and enabled again.
    is_full: bool,
    reasons: ReasonNames,
    room: Room,
    /// What CUPTI writes to when a module is loaded after another was unloaded, and when it is
    /// disabled.
    rest: Room,
}

// SAFETY: the context is only passed to CUPTI, by one thread at a time, which CUPTI permits; what
// the rooms point to is theirs.
unsafe impl Send for ContextSampler {}

impl ContextSampler {
    /// The cycles between two samples at first.
    pub(super) const FIRST_PERIOD_CYCLES: u64 = 1 << FIRST_PERIOD;

    /// Starts sampling, inside a call of the program's that uses the context: takes 0.3 to 0.8 s on
    /// an H100's host.
    ///
    /// By a call of its own, without which the next launch would take that long.
    ///
    /// `period` is the logarithm of the cycles between two samples.
    pub(super) fn start(
        library: &'static PcSamplingLibrary,
        context: usize,
        known: &KnownReasons,
        period: u64,
    ) -> Result<Self, CallError> {
        let context = context as *mut c_void;
        library.enable(&mut Enable {
            context,
            ..Enable::default()
        })?;
        // From here on, dropping it disables sampling.
        let mut sampler = Self {
            library,
            context,
            is_enabled: true,
            period,
            is_full: false,
            reasons: ReasonNames::new(),
            room: Room::new(0),
            rest: Room::new(0),
        };
        sampler.reasons = sampler.name_reasons(known)?;
        sampler.room = Room::new(sampler.reasons.len());
        sampler.rest = Room::new(sampler.reasons.len());
        sampler.configure()?;
        sampler.library.start(&mut Start {
            context,
            ..Start::default()
        })?;
        Ok(sampler)
    }

    /// The reasons to sample.
    fn name_reasons(&self, known: &KnownReasons) -> Result<ReasonNames, CallError> {
        let mut count = 0;
        self.library.reason_count(&mut ReasonCount {
            context: self.context,
            count: &raw mut count,
            ..ReasonCount::default()
        })?;
        let mut indices = vec![0_u32; count];
        let mut texts = vec![[0_u8; REASON_BYTES]; count];
        let mut names: Vec<*mut c_char> = texts
            .iter_mut()
            .map(|text| text.as_mut_ptr().cast())
            .collect();
        self.library.reasons(&mut Reasons {
            context: self.context,
            count,
            indices: indices.as_mut_ptr(),
            names: names.as_mut_ptr(),
            ..Reasons::default()
        })?;
        let mut wanted = ReasonNames::new();
        for (index, text) in indices.into_iter().zip(&texts) {
            let name = CStr::from_bytes_until_nul(text).unwrap_or_default();
            let name = name.to_string_lossy();
            if !name.ends_with(NOT_ISSUED) {
                wanted.insert(
                    index,
                    known.shared(name.strip_prefix(PREFIX).unwrap_or(&name)),
                );
            }
        }
        Ok(wanted)
    }

    fn configure(&mut self) -> Result<(), CallError> {
        let mut wanted: Vec<u32> = self.reasons.keys().copied().collect();
        let reasons = wanted.as_mut_ptr() as u64;
        let rest = (&raw mut *self.rest.data) as u64;
        let attribute = |kind, value| Attribute {
            kind,
            status: 0,
            value,
        };
        let mut attributes = [
            attribute(attribute::PERIOD, [self.period, 0, 0]),
            attribute(attribute::STALL_REASONS, [wanted.len() as u64, reasons, 0]),
            attribute(attribute::SCRATCH_BYTES, [SCRATCH_BYTES, 0, 0]),
            attribute(attribute::MODE, [CONTINUOUS, 0, 0]),
            attribute(attribute::START_STOP, [1, 0, 0]),
            attribute(attribute::DATA_BUFFER, [rest, 0, 0]),
        ];
        self.library.configure(&mut Configure {
            context: self.context,
            count: attributes.len(),
            attributes: attributes.as_mut_ptr(),
            ..Configure::default()
        })
    }

    /// Moves what the device has stored into `samples`.
    pub(super) fn read(&mut self, samples: &mut PcSamples) -> Result<(), CallError> {
        samples.period_cycles = samples.period_cycles.max(1 << self.period);
        loop {
            let result = self.library.get_data(&mut GetData {
                context: self.context,
                data: &raw mut *self.room.data,
                ..GetData::default()
            });
            let written = self.room.take(&self.reasons, samples);
            match result {
                Ok(()) if self.room.data.remaining > 0 && written > 0 => {}
                Ok(()) => return Ok(()),
                Err(error) if error.status == OUT_OF_MEMORY => {
                    samples.full += u64::from(!self.is_full);
                    self.is_full = true;
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    /// The period of the next sampling in the context, after the buffer was full.
    pub(super) fn longer_period(&self) -> u64 {
        (self.period + LONGER).min(LAST_PERIOD)
    }

    /// Moves what CUPTI has written by itself into `samples`, inside the call in which it may have.
    pub(super) fn take_rest(&mut self, samples: &mut PcSamples) {
        self.rest.take(&self.reasons, samples);
    }

    /// Ends sampling and moves the rest into `samples`.
    pub(super) fn stop(mut self, samples: &mut PcSamples) {
        // A context that the program has destroyed is an error.
        let _ = self.library.stop(&mut Stop {
            context: self.context,
            ..Stop::default()
        });
        let _ = self.read(samples);
        self.disable();
        self.take_rest(samples);
    }

    fn disable(&mut self) {
        if std::mem::take(&mut self.is_enabled) {
            let disabled = self.library.disable(&mut Disable {
                context: self.context,
                ..Disable::default()
            });
            if disabled.is_err() {
                // CUPTI may still write to it.
                std::mem::forget(std::mem::replace(&mut self.rest, Room::new(0)));
            }
        }
    }
}

impl Drop for ContextSampler {
    fn drop(&mut self) {
        self.disable();
    }
}

/// The names of all reasons so far, which live as long as the program: there are few, whatever
/// contexts come.
#[derive(Default)]
pub(super) struct KnownReasons(Mutex<Vec<&'static str>>);

impl KnownReasons {
    fn shared(&self, name: &str) -> &'static str {
        let mut names = self.0.lock();
        if let Some(known) = names.iter().find(|known| **known == name) {
            return known;
        }
        let copy: &'static str = Box::leak(name.into());
        names.push(copy);
        copy
    }
}
