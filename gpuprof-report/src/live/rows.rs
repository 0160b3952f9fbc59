//! The counters that a viewer shows: one row for each function, thread and device.

use std::collections::HashMap;

use crate::figures::figures;
use crate::profile::{Function, Profile};

figures! {
    /// The counters of an annotated function since the window began, over all threads.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct FunctionRow {
        /// Number of the function on this connection.
        pub id: u32;
        /// Shown name.
        pub name: String;
        /// Calls that ended.
        pub calls: u64;
        /// Calls in progress.
        pub open_calls: u64;
        /// Time since these began, ns. It grows while they go on: a row is sent again only if
        /// another field has changed.
        pub open_ns: u64;
        /// CPU time of the outermost calls, ns.
        pub cpu_ns: u64;
        /// CPU time without nested spans, ns.
        pub cpu_self_ns: u64;
        /// GPU time of the calls that have been read, ns, estimated under sampling; `None` if no
        /// call was timed.
        pub gpu_ns: Option<u64>;
        /// GPU time without nested spans on the stream, ns; `None` if no call was timed.
        pub gpu_self_ns: Option<u64>;
        /// GPU busy time by CUPTI's records, ns; `None` without CUPTI.
        pub busy_ns: Option<u64>;
    }
}

impl FunctionRow {
    fn new(id: u32, function: &Function) -> Self {
        let gpu = function.gpu.as_ref();
        Self {
            id,
            name: function.name.clone(),
            calls: function.calls,
            open_calls: function.open_calls,
            open_ns: function.open_ns,
            cpu_ns: function.cpu.total_ns,
            cpu_self_ns: function.cpu.self_ns,
            gpu_ns: gpu.map(|gpu| gpu.times.total_ns),
            gpu_self_ns: gpu.map(|gpu| gpu.times.self_ns),
            busy_ns: function.activity.busy_ns,
        }
    }

    /// Whether a call has begun.
    pub(super) fn has_run(&self) -> bool {
        self.calls > 0 || self.open_calls > 0
    }
}

figures! {
    /// The counters of a thread of the program since the window began, or since the thread's first
    /// call if that was later.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct ThreadRow {
        /// The system's number of the thread.
        pub tid: u32;
        /// Its name; empty if it is unknown.
        pub name: String;
        /// Calls that ended on it.
        pub calls: u64;
        /// CPU time of these calls without nested spans, ns.
        pub cpu_ns: u64;
        /// The innermost function that runs on it now; `None` if none does. A future has a thread
        /// only while it is polled, and is never shown here.
        pub running: Option<String>;
        /// Time since that call began, ns. A row is sent again only if another field has changed,
        /// or if `running` is another call.
        pub running_ns: u64;
    }
}

figures! {
    /// The counters of a device since the window began.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct DeviceRow {
        /// CUDA ordinal.
        pub device: u32;
        /// Name; that of a simulated device says so.
        pub name: String;
        /// Calls whose GPU time was read.
        pub timed_calls: u64;
        /// GPU time of all functions, without nested spans, ns.
        pub gpu_ns: u64;
        /// Time during which the device was busy, ns; see
        /// [`GpuBusy::busy_ns`](crate::profile::GpuBusy::busy_ns).
        pub busy_ns: u64;
    }
}

/// All rows at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LiveRows {
    /// When the window began, as in the profile: with another one, all counters begin anew.
    pub started_at: String,
    /// How long the window is open, ns.
    pub wall_ns: u64,
    /// Functions that have run.
    pub functions: Vec<FunctionRow>,
    /// Threads that have called one of them and have not ended.
    pub threads: Vec<ThreadRow>,
    /// Devices on which anything was timed.
    pub devices: Vec<DeviceRow>,
}

/// What tells functions apart.
pub(super) type FunctionKey = (String, String, String, u32);

pub(super) fn key(function: &Function) -> FunctionKey {
    let Function {
        module, name, file, ..
    } = function;
    (module.clone(), name.clone(), file.clone(), function.line)
}

impl LiveRows {
    /// The rows of `profile`, of the functions for which there is a `number`, and these threads.
    pub(super) fn new(
        profile: &Profile,
        threads: Vec<ThreadRow>,
        mut number: impl FnMut(&Function) -> Option<u32>,
    ) -> Self {
        let functions = profile.functions.iter();
        Self {
            started_at: profile.started_at.clone(),
            wall_ns: profile.wall_ns,
            functions: functions
                .filter_map(|function| Some(FunctionRow::new(number(function)?, function)))
                .collect(),
            threads,
            devices: devices(profile),
        }
    }
}

impl LiveRows {
    /// Whether the counters of another window, or those after a reset, follow `before`. The time of
    /// its beginning alone does not tell: it is whole milliseconds.
    pub(super) fn begin_anew_after(&self, before: &Self) -> bool {
        let calls: HashMap<u32, u64> = self
            .functions
            .iter()
            .map(|row| (row.id, row.calls))
            .collect();
        let has_fewer =
            |row: &FunctionRow| calls.get(&row.id).map_or(0, |calls| *calls) < row.calls;
        self.started_at != before.started_at || before.functions.iter().any(has_fewer)
    }
}

fn devices(profile: &Profile) -> Vec<DeviceRow> {
    let row = |device: &crate::profile::Device| {
        let mut row = DeviceRow {
            device: device.ordinal,
            name: device.shown_name().into_owned(),
            ..DeviceRow::default()
        };
        for function in &profile.functions {
            for gpu in function.gpu_on_each_device() {
                if gpu.device == Some(device.ordinal) {
                    row.timed_calls += gpu.timed_calls;
                    row.gpu_ns = row.gpu_ns.saturating_add(gpu.times.self_ns);
                }
            }
        }
        let mut busy = profile.gpu_busy.iter();
        let busy = busy.find(|busy| busy.device == device.ordinal);
        row.busy_ns = busy.map_or(0, |busy| busy.busy_ns);
        row
    };
    profile.devices.iter().map(row).collect()
}
