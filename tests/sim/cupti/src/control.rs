//! [`Cupti`]: the controls of the loaded library. Everything goes through functions that `dlsym`
//! finds in it, never through the copy of its code that is linked into the rlib.

use std::ffi::{CString, c_char};

use simbase::control::{self, c_text};
use simbase::functions;

use crate::abi::{Array, Text};
use crate::counter_model::KernelCounters;
use crate::cubin_image::{GivenInstruction, Instruction};
use crate::function_names::NAMES;
use crate::record_sizes::Version;
use crate::stall_model::{Stall, StallModel};

/// The loaded simulated libcupti.
#[derive(Clone, Copy, Debug)]
pub struct Cupti(&'static Functions);

/// The order of the records in a buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum Order {
    /// As observed on an H200, call by call: external ids, activities of the call, the call.
    #[default]
    Measured,
    /// All activities before all external ids and calls.
    ActivitiesFirst,
    /// All external ids and calls before all activities.
    ActivitiesLast,
    /// Last record first.
    Reversed,
    /// As observed, but with the kernels in reverse order.
    KernelsReversed,
}

/// Invalid time stamps of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum InvalidStamps {
    /// Start and end are 0.
    Zero,
    /// Start and end are exchanged, and at least 1 ns apart.
    Reversed,
}

functions! {
    calls = b"simcupti_calls": extern "C" fn(*const c_char) -> u64,
    reset_calls = b"simcupti_reset_calls": extern "C" fn(),
    fail = b"simcupti_fail": extern "C" fn(*const c_char, u64, u64, u32) -> bool,
    delay = b"simcupti_delay": extern "C" fn(*const c_char, u64) -> bool,
    clear_failures = b"simcupti_clear_failures": extern "C" fn(),
    set_version = b"simcupti_set_version": extern "C" fn(Version, u32),
    split = b"simcupti_split": extern "C" fn(usize),
    set_order = b"simcupti_set_order": extern "C" fn(Order),
    drop_record = b"simcupti_drop_record": extern "C" fn(u32, u64),
    corrupt_stamps = b"simcupti_corrupt_stamps": extern "C" fn(u64, InvalidStamps),
    launch_by_runtime = b"simcupti_launch_by_runtime": extern "C" fn(bool),
    launch_per_thread = b"simcupti_launch_per_thread": extern "C" fn(bool),
    split_copies = b"simcupti_split_copies": extern "C" fn(bool),
    set_wait_us = b"simcupti_set_wait_us": extern "C" fn(u64),
    set_correlation = b"simcupti_set_correlation": extern "C" fn(u32),
    set_counters = b"simcupti_set_counters": extern "C" fn(*const c_char, &KernelCounters) -> bool,
    set_stalls = b"simcupti_set_stalls": extern "C" fn(*const c_char, Array<Stall>) -> bool,
    set_dropped_samples = b"simcupti_set_dropped_samples": extern "C" fn(u64),
    set_other_samples = b"simcupti_set_other_samples": extern "C" fn(u64),
    fill_hardware_buffer = b"simcupti_fill_hardware_buffer": extern "C" fn(),
    set_code = b"simcupti_set_code":
        extern "C" fn(*const c_char, Array<GivenInstruction>) -> bool,
    set_metrics_per_pass = b"simcupti_set_metrics_per_pass": extern "C" fn(usize),
    set_enable_ns = b"simcupti_set_enable_ns": extern "C" fn(u64),
    enables_by = b"simcupti_enables_by": extern "C" fn(*const c_char) -> u64,
    set_other_process = b"simcupti_set_other_process": extern "C" fn(f64),
    reset = b"simcupti_reset": extern "C" fn(),
}

impl Cupti {
    /// Controls through `functions`, which are never unloaded.
    pub(crate) fn new(functions: Functions) -> Cupti {
        Cupti(Box::leak(Box::new(functions)))
    }

    /// Calls of the CUPTI function `symbol` since the library was loaded, or [`Cupti::reset_calls`]
    /// or [`Cupti::reset`].
    ///
    /// # Panics
    /// If the library has no function of that name. The other methods that take a `symbol` do the
    /// same.
    pub fn calls(self, symbol: &str) -> u64 {
        let count = (self.0.calls)(c_text(symbol).as_ptr());
        assert_known(symbol, count != u64::MAX);
        count
    }

    /// Every CUPTI function that was called and its number of calls, sorted by name.
    pub fn calls_by_symbol(self) -> Vec<(String, u64)> {
        control::calls_by_symbol(NAMES, |name| self.calls(name))
    }

    /// Sets all counts to 0.
    pub fn reset_calls(self) {
        (self.0.reset_calls)();
    }

    /// Makes the `nth` call of `symbol` from now (1-based), and the `times - 1` after it, return
    /// the `CUptiResult` `code` without any effect. `fail("cuptiSubscribe", 1, u64::MAX, 39)`
    /// refuses every subscriber.
    ///
    /// # Panics
    /// As [`Cupti::calls`].
    pub fn fail(self, symbol: &str, nth: u64, times: u64, code: u32) {
        assert_known(
            symbol,
            (self.0.fail)(c_text(symbol).as_ptr(), nth, times, code),
        );
    }

    /// Makes each call of `symbol` from now on take so many ms of the host's time.
    ///
    /// # Panics
    /// As [`Cupti::calls`].
    pub fn delay(self, symbol: &str, ms: u64) {
        assert_known(symbol, (self.0.delay)(c_text(symbol).as_ptr(), ms));
    }

    /// Cancels all failures that were requested.
    pub fn clear_failures(self) {
        (self.0.clear_failures)();
    }

    /// Sets the layout of records, and the number that `cuptiGetVersion` returns. Only valid while
    /// the library holds no record.
    pub fn set_version(self, version: Version) {
        (self.0.set_version)(version, 0);
    }

    /// The same, but `cuptiGetVersion` returns `number`, which must not be 0.
    pub fn set_version_reporting(self, version: Version, number: u32) {
        (self.0.set_version)(version, number);
    }

    /// Limits later buffers to so many records; 0 removes the limit.
    pub fn split(self, records: usize) {
        (self.0.split)(records);
    }

    /// Sets the order of the records in buffers that are returned from now on.
    pub fn set_order(self, order: Order) {
        (self.0.set_order)(order);
    }

    /// Drops the `nth` record from now (1-based) of this `CUpti_ActivityKind` (0 for any kind), and
    /// counts it as dropped.
    pub fn drop_record(self, kind: u32, nth: u64) {
        (self.0.drop_record)(kind, nth);
    }

    /// Gives invalid time stamps to the `nth` kernel record from now (1-based).
    pub fn corrupt_stamps(self, nth: u64, stamps: InvalidStamps) {
        (self.0.corrupt_stamps)(nth, stamps);
    }

    /// Reports launches as runtime calls (`cudaLaunchKernel_v7000`, callback id 211) instead of
    /// driver calls, as in a program that launches through cuBLAS, and so `cuProfilerStart` and
    /// `cuProfilerStop`.
    pub fn launch_by_runtime(self, by_runtime: bool) {
        (self.0.launch_by_runtime)(by_runtime);
    }

    /// Reports launches as `cuLaunchKernel_ptsz`, as in a program that is compiled for per-thread
    /// default streams.
    pub fn launch_per_thread(self, per_thread: bool) {
        (self.0.launch_per_thread)(per_thread);
    }

    /// Reports each copy as two records of one call: the first and the second half of its time and
    /// bytes.
    pub fn split_copies(self, split: bool) {
        (self.0.split_copies)(split);
    }

    /// Has calls that wait for the GPU take so many µs of the host, once anything is enabled.
    pub fn set_wait_us(self, us: u64) {
        (self.0.set_wait_us)(us);
    }

    /// Continues the correlation ids after `last`, as if the calls in between had been made. After
    /// 2³² − 1 comes 1.
    pub fn set_correlation(self, last: u32) {
        (self.0.set_correlation)(last);
    }

    /// Sets what each launch of a kernel adds to the hardware counters.
    ///
    /// # Panics
    /// If `kernel` holds a NUL.
    pub fn set_counters(self, kernel: &str, counters: KernelCounters) {
        (self.0.set_counters)(c_text(kernel).as_ptr(), &counters);
    }

    /// Sets the samples that each launch of a kernel from now on adds while PC sampling is enabled;
    /// without, none.
    ///
    /// # Panics
    /// If `kernel` holds a NUL, or the device has no such stall reason.
    pub fn set_stalls(self, kernel: &str, stalls: &[StallModel<'_>]) {
        let stalls: Vec<Stall> = stalls
            .iter()
            .map(|model| match Stall::new(model) {
                Some(stall) => stall,
                None => panic!("the device has no stall reason {:?}", model.reason),
            })
            .collect();
        (self.0.set_stalls)(c_text(kernel).as_ptr(), Array::new(&stalls));
    }

    /// Adds samples that the hardware has dropped to the next read of PC samples.
    pub fn set_dropped_samples(self, samples: u64) {
        (self.0.set_dropped_samples)(samples);
    }

    /// Adds samples of kernels that are not the user's to the next read of PC samples.
    pub fn set_other_samples(self, samples: u64) {
        (self.0.set_other_samples)(samples);
    }

    /// Makes the next read of PC samples find a full hardware buffer. All samples that were not
    /// read before are lost.
    pub fn fill_hardware_buffer(self) {
        (self.0.fill_hardware_buffer)();
    }

    /// Sets the instructions of a kernel in the modules that are loaded from now on; without, four
    /// that do nothing and have no line.
    ///
    /// # Panics
    /// If `kernel` or a path holds a NUL.
    pub fn set_code(self, kernel: &str, code: &[Instruction<'_>]) {
        let paths: Vec<Option<CString>> = code
            .iter()
            .map(|instruction| instruction.line.map(|(path, _)| c_text(path)))
            .collect();
        let code: Vec<GivenInstruction> = code
            .iter()
            .zip(&paths)
            .map(|(instruction, path)| GivenInstruction {
                word: instruction.word,
                path: Text::new(path.as_deref()),
                line: instruction.line.map_or(0, |(_, line)| line),
            })
            .collect();
        (self.0.set_code)(c_text(kernel).as_ptr(), Array::new(&code));
    }

    /// Sets how many metrics fit into one pass; without, all do.
    pub fn set_metrics_per_pass(self, metrics: usize) {
        (self.0.set_metrics_per_pass)(metrics);
    }

    /// Sets how far `cuptiPmSamplingEnable` advances the driver's virtual clock, in ns; without,
    /// 10 µs. Sampling another set of metrics needs such a call, which takes an H100 300 ms.
    pub fn set_enable_ns(self, ns: u64) {
        (self.0.set_enable_ns)(ns);
    }

    /// How often threads of this name (15 bytes at most) have called `cuptiPmSamplingEnable` with
    /// success.
    ///
    /// # Panics
    /// If `thread` holds a NUL.
    pub fn enables_by(self, thread: &str) -> u64 {
        (self.0.enables_by)(c_text(thread).as_ptr())
    }

    /// Lets another process read so many bytes of device memory per ns, all the time.
    pub fn set_other_process(self, bytes_per_ns: f64) {
        (self.0.set_other_process)(bytes_per_ns);
    }

    /// Resets everything except the version to the state after loading: no subscriber, nothing
    /// enabled, no external ids, no requested failures, all counts 0. Buffers and their records are
    /// forgotten. For tests that share a process; no other thread may be inside a driver call.
    pub fn reset(self) {
        (self.0.reset)();
    }
}

fn assert_known(symbol: &str, is_known: bool) {
    assert!(
        is_known,
        "the simulated libcupti has no function `{symbol}`"
    );
}
