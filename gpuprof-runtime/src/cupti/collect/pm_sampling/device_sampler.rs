//! Sampling on one device: starts it, decodes what the device has stored, and widens the interval
//! if samples come too fast.

use std::ffi::{CStr, c_int};
use std::time::{Duration, Instant};

use gpuprof_report::profile::Metric;

use super::bindings::{
    APPEND_VERSION, Availability, ChipName, DataInfo, DataInitialize, DataSize, Decode, Disable,
    Enable, OUT_OF_MEMORY, Object, SampleInfo, SetConfig, Start, Stop, trigger,
};
use super::host::{Chip, Host};
use super::library::SamplingLibrary;
use super::metrics::Sample;
use super::unavailable::Unavailable;
use crate::cupti::collect::library::CallError;

/// The first interval, ns. An H200 with CUDA 13.0 keeps up with 30 µs, and not with 12 µs; at 30 µs
/// sampling cost nothing that could be measured.
const INTERVAL_NS: u64 = 50_000;
/// The widest interval, ns. Whoever cannot keep up with it is not sampled.
const MAX_INTERVAL_NS: u64 = 100 * INTERVAL_NS;
/// What the device stores samples in, bytes: host memory of the driver's.
const HARDWARE_BUFFER_BYTES: usize = 128 << 20;
/// Samples that are decoded at a time, those of 100 ms, and the most memory for them: 39 MB on an
/// H200. Decoding takes all that the device has stored, and loses what there is no room for.
const MAX_SAMPLES: u32 = 2_000;
const MAX_DATA_BYTES: usize = 64 << 20;
/// Decoded samples that wait for the reader. Beyond that the device stores them.
const MAX_DECODED: usize = 100_000;
/// The share of its time that the thread may spend on decoding before the interval is doubled. On
/// an H200's host a sample takes 25 to 40 µs: more than half at 50 µs, and less at 100 µs.
const MAX_DECODE_SHARE: f64 = 0.6;
/// Over at least this time.
const PACE_PERIOD: Duration = Duration::from_secs(2);
/// Cycles of the system clock in 2 ns: 50,000 cycles took 30 µs on an H200. Samples have time
/// stamps of their own, so that the interval need not be exact.
const SYSCLK_CYCLES_PER_2_NS: u64 = 3;

pub(super) struct DeviceSampler {
    library: &'static SamplingLibrary,
    host: Host,
    device: u32,
    object: Object,
    /// The counter data image.
    data: Vec<u8>,
    pub(super) chip: String,
    trigger: c_int,
    interval_ns: u64,
    /// The first sample after a start began when the device did (H200, CUDA 13.0).
    skips_first: bool,
    pub(super) overflows: u64,
    /// In order of time.
    decoded: Vec<Sample>,
    period: Instant,
    decoding: Duration,
}

// SAFETY: the object is used by one thread at a time, which CUPTI permits.
unsafe impl Send for DeviceSampler {}

impl DeviceSampler {
    /// Starts sampling. Takes some hundred ms (450 on an H200's host, most of it in the driver).
    pub(super) fn start(
        library: &'static SamplingLibrary,
        device: u32,
    ) -> Result<Self, Unavailable> {
        let mut chip = ChipName {
            device: device as usize,
            ..ChipName::default()
        };
        library.chip_name(&mut chip)?;
        // SAFETY: after success it is a static NUL-terminated string.
        let chip = unsafe { CStr::from_ptr(chip.name) };
        let availability = availability(library, device)?;
        let host = Host::choose(
            library,
            &Chip {
                name: chip,
                availability: &availability,
            },
        )?;
        // From here on, dropping it disables sampling.
        let mut sampler = Self {
            library,
            host,
            device,
            object: enable(library, device)?,
            data: Vec::new(),
            chip: chip.to_string_lossy().into_owned(),
            trigger: trigger::TIME,
            interval_ns: INTERVAL_NS,
            skips_first: true,
            overflows: 0,
            decoded: Vec::new(),
            period: Instant::now(),
            decoding: Duration::ZERO,
        };
        if sampler.configure().is_err() {
            sampler.trigger = trigger::SYSCLK;
            sampler.configure()?;
        }
        sampler.make_data()?;
        sampler.begin()?;
        Ok(sampler)
    }

    /// The sampled metrics, and those that are not.
    pub(super) fn metrics(&self) -> (Vec<Metric>, Vec<Metric>) {
        self.host.metrics()
    }

    fn configure(&mut self) -> Result<(), CallError> {
        let interval = match self.trigger {
            trigger::TIME => self.interval_ns,
            _ => self.interval_ns * SYSCLK_CYCLES_PER_2_NS / 2,
        };
        let mut parameters = SetConfig {
            object: self.object,
            size: self.host.config.len(),
            image: self.host.config.as_ptr(),
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
        let mut bytes = self.data_bytes(MAX_SAMPLES)?;
        if bytes > MAX_DATA_BYTES {
            let fitting = MAX_DATA_BYTES / (bytes / MAX_SAMPLES as usize).max(1);
            bytes = self.data_bytes(u32::try_from(fitting.max(1)).unwrap_or(1))?;
        }
        self.data.resize(bytes, 0);
        self.clear_data()
    }

    fn data_bytes(&self, max_samples: u32) -> Result<usize, CallError> {
        let mut parameters = DataSize {
            object: self.object,
            names: self.host.names.as_ptr(),
            count: self.host.names.len(),
            max_samples,
            ..DataSize::default()
        };
        self.library.data_size(&mut parameters)?;
        Ok(parameters.size)
    }

    fn clear_data(&mut self) -> Result<(), CallError> {
        self.library.data_initialize(&mut DataInitialize {
            object: self.object,
            size: self.data.len(),
            image: self.data.as_mut_ptr(),
            ..DataInitialize::default()
        })
    }

    fn begin(&mut self) -> Result<(), CallError> {
        self.skips_first = true;
        self.library.start(&mut Start {
            object: self.object,
            ..Start::default()
        })
    }

    fn stop(&mut self) -> Result<(), CallError> {
        self.library.stop(&mut Stop {
            object: self.object,
            ..Stop::default()
        })
    }

    /// Gives the samples so far to `each`, in order of time.
    pub(super) fn poll(&mut self, each: &mut dyn FnMut(Sample)) -> Result<(), CallError> {
        let result = self.decode();
        self.decoded.drain(..).for_each(each);
        result
    }

    /// Decodes what the device has stored. To be called before it has stored [`MAX_SAMPLES`].
    pub(super) fn decode(&mut self) -> Result<(), CallError> {
        if self.decoded.len() >= MAX_DECODED {
            return Ok(());
        }
        let began = Instant::now();
        let mut parameters = Decode {
            object: self.object,
            image: self.data.as_mut_ptr(),
            size: self.data.len(),
            ..Decode::default()
        };
        let is_full = match self.library.decode(&mut parameters) {
            Ok(()) => parameters.overflow != 0,
            Err(error) if error.status == OUT_OF_MEMORY => true,
            Err(error) => return Err(error),
        };
        self.read()?;
        self.clear_data()?;
        self.decoding += began.elapsed();
        match is_full || self.is_too_slow() {
            true => self.widen(),
            false => Ok(()),
        }
    }

    /// Reads the decoded samples.
    fn read(&mut self) -> Result<(), CallError> {
        let mut info = DataInfo {
            image: self.data.as_ptr(),
            size: self.data.len(),
            ..DataInfo::default()
        };
        self.library.data_info(&mut info)?;
        for index in 0..info.completed {
            let mut times = SampleInfo {
                object: self.object,
                image: self.data.as_ptr(),
                size: self.data.len(),
                index,
                ..SampleInfo::default()
            };
            self.library.sample_info(&mut times)?;
            let SampleInfo { start, end, .. } = times;
            if std::mem::take(&mut self.skips_first) || end <= start {
                continue;
            }
            let integrals = self.host.evaluate(&self.data, index, end - start)?;
            self.decoded.push(Sample {
                start,
                end,
                integrals,
            });
        }
        Ok(())
    }

    /// Whether decoding takes too much of the thread's time.
    fn is_too_slow(&mut self) -> bool {
        let period = self.period.elapsed();
        if period < PACE_PERIOD {
            return false;
        }
        let share = self.decoding.as_secs_f64() / period.as_secs_f64();
        self.period = Instant::now();
        self.decoding = Duration::ZERO;
        share > MAX_DECODE_SHARE
    }

    /// Begins again with twice the interval. Takes 200 ms on an H200's host, in which nothing is
    /// sampled.
    ///
    /// With a new object: after an overflow the old one decodes nothing any more, and cannot be
    /// started a second time (H200, CUDA 13.0).
    fn widen(&mut self) -> Result<(), CallError> {
        self.overflows += 1;
        self.interval_ns = (2 * self.interval_ns).min(MAX_INTERVAL_NS);
        // After an overflow it may fail.
        let _ = self.stop();
        self.disable()?;
        self.object = enable(self.library, self.device)?;
        self.configure()?;
        self.make_data()?;
        self.begin()
    }

    fn disable(&mut self) -> Result<(), CallError> {
        self.library.disable(&mut Disable {
            object: self.object,
            ..Disable::default()
        })
    }
}

impl Drop for DeviceSampler {
    fn drop(&mut self) {
        // It may have stopped already.
        let _ = self.stop();
        let _ = self.disable();
    }
}

/// The object that stands for sampling on the device; there can be one at a time.
fn enable(library: &SamplingLibrary, device: u32) -> Result<Object, CallError> {
    let mut parameters = Enable {
        device: device as usize,
        ..Enable::default()
    };
    library.enable(&mut parameters)?;
    Ok(parameters.object)
}

/// Which counters of the device can be used.
fn availability(library: &SamplingLibrary, device: u32) -> Result<Vec<u8>, CallError> {
    let mut parameters = Availability {
        device: device as usize,
        ..Availability::default()
    };
    library.availability(&mut parameters)?;
    let mut image = vec![0; parameters.size];
    parameters.image = image.as_mut_ptr();
    library.availability(&mut parameters)?;
    Ok(image)
}
