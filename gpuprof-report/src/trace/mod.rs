//! A time line of a program: what ran on each thread, device and stream, and when.
//!
//! A [`Trace`] is plain data, as a [`Profile`](crate::profile::Profile) is: what the recorder kept.
//! Names, threads and streams are listed once, and events refer to them by index. A reference to
//! something that is not listed is `(unknown)` in the outputs.
//!
//! Units: each `*_ns` is in nanoseconds; the times of events are since [`Trace::base_unix_ns`].

#[cfg(feature = "trace")]
mod arrows;
#[cfg(feature = "trace")]
mod chrome;
mod clock;
#[cfg(feature = "trace")]
mod device_counters;
mod events;
mod format;
#[cfg(all(test, feature = "trace"))]
mod hand_made;
#[cfg(feature = "trace")]
mod labels;
#[cfg(feature = "trace")]
mod perfetto;
#[cfg(feature = "trace")]
mod rows;

use crate::profile::Device;

#[cfg(feature = "trace")]
pub use self::chrome::write_json;
pub use self::clock::{ClockMap, ClockPair};
pub use self::events::{Activity, ActivityKind, ApiCall, CounterTrack, CpuSpan, Gap, GpuSpan};
pub use self::format::TraceFileFormat;
#[cfg(feature = "trace")]
pub use self::format::write;
#[cfg(feature = "trace")]
pub use self::perfetto::write_perfetto;

/// What was recorded of one process.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Trace {
    /// File name of the program.
    pub program: String,
    /// Process id.
    pub pid: u32,
    /// Name of the machine.
    pub host: String,
    /// Rank of the process in its job; `None` if it has none.
    pub rank: Option<u32>,
    /// Ranks of the job; `None` if that is unknown.
    pub ranks: Option<u32>,
    /// Time zero of all events, ns since the Unix epoch by the host's clock.
    pub base_unix_ns: u64,
    /// End of the recording, ns.
    pub end_ns: u64,
    /// How far the times of the GPU may be from those of the CPU, ns; `None` without GPU times.
    pub clock_error_ns: Option<u64>,
    /// The devices with an event, by ordinal.
    pub devices: Vec<Device>,
    /// The threads with an event.
    pub threads: Vec<TraceThread>,
    /// The streams with an event.
    pub streams: Vec<TraceStream>,
    /// Names of functions with their labels, of kernels, and of CUDA calls.
    pub names: Vec<String>,
    /// Calls of annotated functions on the CPU; of async functions, their polls.
    pub cpu_spans: Vec<CpuSpan>,
    /// Calls of annotated functions on the GPU, from event to event.
    pub gpu_spans: Vec<GpuSpan>,
    /// Kernels, copies and memsets by CUPTI's records.
    pub activities: Vec<Activity>,
    /// CUDA calls by CUPTI's callbacks.
    pub api_calls: Vec<ApiCall>,
    /// Values over time that collectors sampled.
    pub counters: Vec<CounterTrack>,
    /// Times of which events are missing.
    pub gaps: Vec<Gap>,
}

/// A thread of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceThread {
    /// The system's number of the thread.
    pub tid: u64,
    /// Its name; empty if it has none.
    pub name: String,
}

/// A stream of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceStream {
    /// CUDA ordinal of the device.
    pub device: u32,
    /// CUPTI's number of the context; `None` without CUPTI.
    pub context: Option<u32>,
    /// CUPTI's number of the stream, or a number of gpuprof's own without CUPTI.
    pub stream: u32,
    /// Whether it is listed for GPU spans alone, whose streams CUPTI numbers otherwise.
    pub is_of_spans: bool,
}
