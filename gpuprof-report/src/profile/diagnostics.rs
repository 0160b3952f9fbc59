//! Coverage, overhead and errors of a measurement.

use crate::figures::{Sum, figures};
use crate::setting_values::Sampling;

figures! {
    /// Coverage, overhead and errors of the measurement.
    #[derive(Clone, Debug, Default, PartialEq)]
    #[non_exhaustive]
    pub struct Diagnostics {
        /// Event overhead: the time that an empty event pair measures on the slowest device, ns;
        /// `None` if it could not be measured.
        pub event_overhead_ns: Option<u64> = max;
        /// Estimated CPU overhead per call, ns, on this machine and in this run.
        pub overhead_ns_per_call: Option<u64> = special;
        /// `overhead_ns_per_call` times the calls of this profile, over all threads, ns.
        pub overhead_ns: u64 = sum;
        /// CPU time that a span without GPU timing takes on this machine, ns; `None` if it was not
        /// measured.
        pub cpu_span_ns: Option<u64> = max;
        /// Time spent once, in the first calls on a context or a thread, ns: creating events,
        /// starting the resolver. Not part of `overhead_ns`.
        pub setup_ns: u64 = sum;
        /// Time of event records that took over 50 µs, ns. They waited, mostly because the stream's
        /// queue was full, and the program's next launch would have waited as long. Not part of
        /// `overhead_ns`, which has those of up to 1 ms that waited for other threads of the
        /// stream.
        pub stalled_ns: u64 = sum;
        /// CPU time of gpuprof's own threads for the answers to viewers (`GPUPROF_LIVE`), since the
        /// start of the process, ns. Not part of `overhead_ns`. JSON omits this if it is 0.
        pub live_ns: u64 = sum, unless default;
        /// True if the program had not initialized CUDA when the profile was taken, so that no
        /// function can have a stream. JSON omits it if it is false.
        pub no_cuda: bool = all, unless default;
        /// Calls.
        pub calls: u64 = sum;
        /// Calls of functions that had a stream in at least one call.
        pub calls_with_stream: u64 = sum;
        /// Of `calls_with_stream`, those that were timed on the GPU.
        pub timed_calls: u64 = sum;
        /// Of `calls_with_stream`, those made while their stream was being captured.
        pub captured_calls: u64 = sum;
        /// Of `calls_with_stream`, those neither timed nor captured, by reason.
        pub untimed: UntimedReasons = sum;
        /// Which calls were to be timed on the GPU.
        pub sampling: Sampling = special;
        /// Calls that are counted in no other field: there were already 65,536 call paths, the
        /// counters of all threads took 1 GiB, the thread was ending, or the program's allocator
        /// made them within gpuprof's own work.
        pub dropped: u64 = sum;
        /// Durations missing from the histograms because the counters of all threads took 1 GiB.
        pub histogram_dropped: u64 = sum;
        /// Spans that ended out of order, such as a `scope!` held across an `.await`.
        pub misnested: u64 = sum;
        /// Calls with a `bytes`, `flops` or `items` that is negative, over 10³⁰ or not a number.
        /// Such an amount is left out of every sum and rate.
        pub invalid_amounts: u64 = sum;
        /// The CUDA errors of gpuprof's own calls.
        pub errors: Vec<CudaError> = special;
        /// Wrong settings, functions that the driver lacks, and the like: one line each.
        pub notes: Vec<String> = special;
    }
}

/// How the note begins that says why CUPTI was asked for and did not start.
pub const CUPTI_UNAVAILABLE: &str = "kernels are not recorded (GPUPROF_CUPTI): ";

impl Diagnostics {
    /// Why CUPTI was asked for and did not start, and what to do; `None` if it was not asked for,
    /// or started.
    #[must_use]
    pub fn cupti_unavailable(&self) -> Option<&str> {
        let mut notes = self.notes.iter();
        notes
            .find(|note| note.contains(CUPTI_UNAVAILABLE))
            .map(String::as_str)
    }
}

figures! {
    /// A CUDA error and how often it occurred.
    #[derive(Clone, Debug, Default, PartialEq)]
    #[non_exhaustive]
    pub struct CudaError {
        /// The driver function that gpuprof called.
        pub call: String = special;
        /// `CUresult` as a number.
        pub code: u32 = special;
        /// `CUresult` by name, for example `CUDA_ERROR_OUT_OF_MEMORY`.
        pub name: String = special;
        /// Number of occurrences.
        #[cfg_attr(test, schemars(range(min = 1)))]
        pub count: u64 = sum;
    }
}

figures! {
    /// Why calls of functions that have a stream were not timed on the GPU. JSON omits reasons
    /// whose count is 0.
    #[derive(Clone, Debug, Default, PartialEq)]
    #[non_exhaustive]
    pub struct UntimedReasons {
        /// This call found no stream, but others of the same function did.
        pub no_stream: u64 = sum, unless default;
        /// Not chosen by sampling.
        pub sampled_out: u64 = sum, unless default;
        /// Every event of the pool was in flight: the GPU is far behind the CPU.
        pub pool_exhausted: u64 = sum, unless default;
        /// The queue from the thread to the resolver was full.
        pub queue_full: u64 = sum, unless default;
        /// One of gpuprof's CUDA calls failed; [`Diagnostics::errors`] has the error.
        pub cuda_error: u64 = sum, unless default;
        /// The driver lacks a function that timing needs, or GPU timing was given up.
        pub unavailable: u64 = sum, unless default;
        /// The GPU had not finished when the profile was taken.
        pub unfinished: u64 = sum, unless default;
        /// The stream cannot be kept until the end of the call, or changed its thread (per-thread
        /// stream).
        pub stream_unsafe: u64 = sum, unless default;
        /// The call began before a reset and ended after it: its GPU time belongs to neither
        /// window.
        pub crossed_reset: u64 = sum, unless default;
    }
}

impl UntimedReasons {
    /// The sum of all reasons.
    #[must_use]
    pub fn sum(&self) -> u64 {
        // A document may hold anything.
        let mut sum = 0_u64;
        self.each_sum("untimed", &mut |_, calls| sum.add(&calls));
        sum
    }

    /// Adds `other`, reason by reason.
    pub fn add(&mut self, other: &Self) {
        Sum::add(self, other);
    }
}
