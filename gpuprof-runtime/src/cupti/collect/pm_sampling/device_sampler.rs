//! Sampling on one device: starts it, decodes what the device has stored, and widens the interval.

use std::ffi::{CStr, c_int};

use gpuprof_report::profile::DeviceCounters;

use super::bindings::{
    APPEND_VERSION, COUNTER_DATA_FULL, ChipName, DataInfo, DataInitialize, DataSize, Decode,
    Disable, OUT_OF_MEMORY, OpaqueObject, SampleInfo, SetConfig, Start, Stop, trigger,
};
use super::host::{AvailableCounters, Host};
use super::library::SamplingLibrary;
use super::listed::MetricList;
use super::metrics::{MetricSet, PmSample};
use super::refused;
use super::turns::{Turn, Turns};
use super::unavailable::PmSamplingUnavailable;
use crate::cupti::collect::library::CallError;
use crate::cupti::collect::lifecycle;

/// The first interval, ns. At 30 µs sampling cost an H200 nothing that could be measured, but
/// decoding a sample of 19 KB takes its host 25 to 40 µs, and twice as long while the program
/// launches short kernels: at 50 µs samples were lost.
const INTERVAL_NS: u64 = 100_000;
/// The first interval for samples of more than 32 KB. Those of an H100 have 55 KB and take 110 µs.
const LONG_INTERVAL_NS: u64 = 250_000;
const LARGE_SAMPLE: usize = 32 << 10;
/// The widest interval, ns. A device that is too fast even for it is not sampled.
const MAX_INTERVAL_NS: u64 = 50 * INTERVAL_NS;
/// What the device stores samples in, bytes: host memory of the driver's.
const HARDWARE_BUFFER_BYTES: usize = 128 << 20;
/// Time of the samples that are decoded at once at the first interval, ns, and the most memory for
/// them. Decoding takes all that the device has stored, and loses what there is no room for; a
/// wider interval makes room for a longer time.
const DECODED_NS: u64 = 200_000_000;
const MAX_DATA_BYTES: usize = 64 << 20;
/// Cycles of the system clock in 2 ns: 50,000 cycles took 30 µs on an H200. Samples have time
/// stamps of their own, so that the interval need not be exact.
const SYSCLK_CYCLES_PER_2_NS: u64 = 3;

pub(super) struct DeviceSampler {
    library: &'static SamplingLibrary,
    first: SampledSet,
    /// What is sampled in its place in turn; `None` before the first time, and if there is nothing.
    in_turn: Option<SampledSet>,
    pub(super) turns: Turns,
    /// What the hosts were made from, and may refer to.
    availability: Vec<u8>,
    device: u32,
    /// `None` if there is none to disable.
    object: Option<OpaqueObject>,
    /// Its name.
    chip: &'static CStr,
    trigger: c_int,
    pub(super) interval_ns: u64,
    /// Samples that are decoded at once, at most.
    room: u32,
    /// The first sample after a start began when the device did (H200, CUDA 13.0).
    skips_first: bool,
}

/// Metrics that are sampled together.
struct SampledSet {
    host: Host,
    /// The counter data image.
    data: Vec<u8>,
}

// SAFETY: the object is used by one thread at a time, which CUPTI permits.
unsafe impl Send for DeviceSampler {}

impl DeviceSampler {
    /// Starts sampling. Takes some hundred ms (450 on an H200's host, most of it in the driver).
    pub(super) fn start(
        library: &'static SamplingLibrary,
        device: u32,
        list: &'static MetricList,
    ) -> Result<Self, PmSamplingUnavailable> {
        let mut chip = ChipName {
            device: device as usize,
            ..ChipName::default()
        };
        library.chip_name(&mut chip)?;
        // SAFETY: after success it is a static NUL-terminated string.
        let chip = unsafe { CStr::from_ptr(chip.name) };
        let availability = library.counters(device)?;
        let counters = AvailableCounters {
            name: chip,
            availability: &availability,
        };
        let host = Host::choose(library, &counters, list)?;
        // From here on, dropping it disables sampling.
        let mut sampler = Self {
            library,
            first: SampledSet {
                host,
                data: Vec::new(),
            },
            in_turn: None,
            turns: Turns::new(lifecycle::now()),
            availability,
            device,
            object: Some(library.object(device)?),
            chip,
            trigger: trigger::TIME,
            interval_ns: INTERVAL_NS,
            room: 0,
            skips_first: true,
        };
        if sampler.data_bytes(1)? > LARGE_SAMPLE {
            sampler.interval_ns = LONG_INTERVAL_NS;
        }
        sampler.room = u32::try_from(DECODED_NS / sampler.interval_ns).unwrap_or(1);
        if sampler.configure().is_err() {
            sampler.trigger = trigger::SYSCLK;
            sampler.configure()?;
        }
        sampler.make_data()?;
        sampler.begin()?;
        Ok(sampler)
    }

    /// Writes what is sampled.
    pub(super) fn describe(&self, facts: &mut DeviceCounters) {
        facts.chip = self.chip.to_string_lossy().into_owned();
        self.first.host.describe(facts);
    }

    /// The metrics that are sampled now.
    fn set(&self) -> &SampledSet {
        match self.turns.set {
            MetricSet::First => &self.first,
            MetricSet::InTurn => self.in_turn.as_ref().unwrap_or(&self.first),
        }
    }

    fn set_mut(&mut self) -> &mut SampledSet {
        match (self.turns.set, &mut self.in_turn) {
            (MetricSet::InTurn, Some(in_turn)) => in_turn,
            _ => &mut self.first,
        }
    }

    /// Why metrics of the list are not sampled; of each once. May ask CUPTI for the metrics of the
    /// chip, which takes 0.1 s for a name whose nearest is far.
    pub(super) fn refusals(&mut self) -> Vec<String> {
        let chip = AvailableCounters {
            name: self.chip,
            availability: &self.availability,
        };
        let refused = std::mem::take(&mut self.first.host.refused);
        refused::lines(&refused, self.library, &chip)
    }

    /// Null if it was disabled, which CUPTI refuses.
    fn object(&self) -> OpaqueObject {
        self.object.unwrap_or(std::ptr::null_mut())
    }

    fn configure(&mut self) -> Result<(), CallError> {
        let interval = match self.trigger {
            trigger::TIME => self.interval_ns,
            _ => self.interval_ns * SYSCLK_CYCLES_PER_2_NS / 2,
        };
        let config = &self.set().host.config;
        let mut parameters = SetConfig {
            object: self.object(),
            size: config.len(),
            image: config.as_ptr(),
            hardware_buffer_bytes: HARDWARE_BUFFER_BYTES,
            interval,
            trigger: self.trigger,
            ..SetConfig::default()
        };
        if self.library.version < APPEND_VERSION {
            parameters.bytes = SetConfig::BYTES_WITHOUT_APPEND;
        }
        self.library.set_config(&mut parameters)
    }

    /// Makes room for decoded samples.
    fn make_data(&mut self) -> Result<(), CallError> {
        let samples = self.room;
        let mut bytes = self.data_bytes(samples)?;
        if bytes > MAX_DATA_BYTES {
            let fitting = MAX_DATA_BYTES / (bytes / samples as usize).max(1);
            bytes = self.data_bytes(u32::try_from(fitting.max(1)).unwrap_or(1))?;
        }
        self.set_mut().data.resize(bytes, 0);
        self.clear_data()
    }

    fn data_bytes(&self, max_samples: u32) -> Result<usize, CallError> {
        let names = &self.set().host.names;
        let mut parameters = DataSize {
            object: self.object(),
            names: names.as_ptr(),
            count: names.len(),
            max_samples,
            ..DataSize::default()
        };
        self.library.data_size(&mut parameters)?;
        Ok(parameters.size)
    }

    fn clear_data(&mut self) -> Result<(), CallError> {
        let (library, object) = (self.library, self.object());
        let data = &mut self.set_mut().data;
        library.data_initialize(&mut DataInitialize {
            object,
            size: data.len(),
            image: data.as_mut_ptr(),
            ..DataInitialize::default()
        })
    }

    fn begin(&mut self) -> Result<(), CallError> {
        self.skips_first = true;
        self.library.start(&mut Start {
            object: self.object(),
            ..Start::default()
        })
    }

    fn stop(&mut self) -> Result<(), CallError> {
        self.library.stop(&mut Stop {
            object: self.object(),
            ..Stop::default()
        })
    }

    /// Gives what the device has stored to `each`, in order of time. To be called before it has
    /// stored those of [`DECODED_NS`]: returns whether it had more, so that some are lost.
    pub(super) fn decode(&mut self, each: &mut dyn FnMut(PmSample)) -> Result<bool, CallError> {
        let object = self.object();
        let data = &mut self.set_mut().data;
        let mut parameters = Decode {
            object,
            image: data.as_mut_ptr(),
            size: data.len(),
            ..Decode::default()
        };
        let mut is_full = match self.library.decode(&mut parameters) {
            Ok(()) => parameters.overflow != 0 || parameters.stop_reason == COUNTER_DATA_FULL,
            Err(error) if error.status == OUT_OF_MEMORY => true,
            Err(error) => return Err(error),
        };
        is_full |= self.read(each)?;
        self.clear_data()?;
        Ok(is_full)
    }

    /// Gives the decoded samples to `each`. Returns whether there was room for no more.
    fn read(&mut self, each: &mut dyn FnMut(PmSample)) -> Result<bool, CallError> {
        let mut skips_first = std::mem::take(&mut self.skips_first);
        let SampledSet { host, data } = self.set();
        let mut info = DataInfo {
            image: data.as_ptr(),
            size: data.len(),
            ..DataInfo::default()
        };
        self.library.data_info(&mut info)?;
        for index in 0..info.completed {
            let mut times = SampleInfo {
                object: self.object(),
                image: data.as_ptr(),
                size: data.len(),
                index,
                ..SampleInfo::default()
            };
            self.library.sample_info(&mut times)?;
            let SampleInfo { start, end, .. } = times;
            if std::mem::take(&mut skips_first) || end <= start {
                continue;
            }
            let integrals = host.evaluate(data, index, end - start)?;
            each(PmSample {
                start,
                end,
                set: self.turns.set,
                integrals,
                listed: host.listed,
            });
        }
        self.skips_first = skips_first;
        Ok(info.completed > 0 && info.completed == info.total)
    }

    /// Begins again with twice the interval. Takes 200 ms on an H200's host, in which nothing is
    /// sampled.
    ///
    /// With a new object: after an overflow the old one decodes nothing any more, and cannot be
    /// started a second time (H200, CUDA 13.0).
    pub(super) fn widen(&mut self) -> Result<(), PmSamplingUnavailable> {
        if self.interval_ns >= MAX_INTERVAL_NS {
            return Err(PmSamplingUnavailable::TooSlow {
                interval_ns: self.interval_ns,
            });
        }
        self.interval_ns = (2 * self.interval_ns).min(MAX_INTERVAL_NS);
        Ok(self.restart(MetricSet::First)?)
    }

    /// Begins again with a set, and a new object: the configuration of the old one stays as it is
    /// (H100, CUDA 13.0).
    fn restart(&mut self, set: MetricSet) -> Result<(), CallError> {
        // After an overflow it may fail.
        let _ = self.stop();
        self.disable()?;
        self.turns.set = set;
        self.object = Some(self.library.object(self.device)?);
        self.configure()?;
        self.make_data()?;
        self.begin()?;
        self.turns.begin(lifecycle::now());
        Ok(())
    }

    /// If it is the other set's turn at `now`, ns of CUPTI's clock: gives what the device has
    /// stored to `each`, and samples that one from now on.
    pub(super) fn take_turns(
        &mut self,
        now: u64,
        each: &mut dyn FnMut(PmSample),
    ) -> Result<Turn, CallError> {
        let Some(next) = self.turns.next(now) else {
            return Ok(Turn::Same);
        };
        let is_new = next == MetricSet::InTurn && self.in_turn.is_none();
        if is_new {
            let chip = AvailableCounters {
                name: self.chip,
                availability: &self.availability,
            };
            let Some(host) = Host::choose_in_turn(self.library, &chip) else {
                self.turns.end();
                return Ok(Turn::Same);
            };
            let data = Vec::new();
            self.in_turn = Some(SampledSet { host, data });
        }
        // After an overflow it may fail.
        let _ = self.stop();
        if self.decode(each)? && self.samples_first_set() {
            return Ok(Turn::Full);
        }
        if self.restart(next).is_err() {
            self.turns.end();
            self.in_turn = None;
            self.restart(MetricSet::First)?;
            return Ok(Turn::Other);
        }
        Ok(if is_new { Turn::New } else { Turn::Other })
    }

    /// Whether it is the turn of the first set.
    pub(super) fn samples_first_set(&self) -> bool {
        self.turns.set == MetricSet::First
    }

    /// Writes what is sampled in turn.
    pub(super) fn describe_in_turn(&self, facts: &mut DeviceCounters) {
        if let Some(in_turn) = &self.in_turn {
            in_turn.host.describe_in_turn(facts);
        }
    }

    fn disable(&mut self) -> Result<(), CallError> {
        let Some(object) = self.object.take() else {
            return Ok(());
        };
        self.library.disable(&mut Disable {
            object,
            ..Disable::default()
        })
    }
}

impl Drop for DeviceSampler {
    fn drop(&mut self) {
        if self.object.is_some() {
            // It may have stopped already.
            let _ = self.stop();
            let _ = self.disable();
        }
    }
}
