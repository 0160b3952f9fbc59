//! Builders of hand-made profiles.

use crate::profile::{
    ApiStats, BusyRecords, CopyStats, CuptiCompleteness, Device, DurationStats, Function,
    GpuActivity, GpuBusy, GpuSpanStats, KernelStats, Profile, SpanStats, TreeNode,
};

pub(super) const US: u64 = 1_000;
pub(super) const MS: u64 = 1_000_000;
pub(super) const S: u64 = 1_000_000_000;

/// With the limits and peaks that the table of docs/measurements/h200.md goes by.
pub(super) fn h200() -> Device {
    Device {
        compute_capability: "9.0".into(),
        sm_count: Some(132),
        threads_per_sm: Some(2_048),
        blocks_per_sm: Some(32),
        registers_per_sm: Some(65_536),
        shared_bytes_per_sm: Some(233_472),
        reserved_shared_bytes_per_block: Some(1_024),
        peak_bytes_per_s: Some(4_814_000_000_000),
        peak_flops_f32: Some(66_900_000_000_000),
        peak_flops_f64: Some(33_450_000_000_000),
        ..Device::default()
    }
}

/// With the peaks of the simulated device: double precision at 1/32 of single.
pub(super) fn simulated() -> Device {
    Device {
        compute_capability: "7.5".into(),
        sm_count: Some(40),
        peak_bytes_per_s: Some(320_064_000_000),
        peak_flops_f32: Some(8_140_800_000_000),
        peak_flops_f64: Some(254_400_000_000),
        simulated: true,
        ..Device::default()
    }
}

pub(super) fn durations(calls: u64, each_ns: u64) -> DurationStats {
    DurationStats {
        calls,
        total_ns: calls * each_ns,
        mean_ns: each_ns,
        min_ns: each_ns,
        max_ns: each_ns,
        p50_ns: each_ns,
        p99_ns: each_ns,
        histogram: Vec::new(),
    }
}

/// Large enough for any device unless its grid is changed, and alone on it.
pub(super) fn kernel(name: &str, calls: u64, each_ns: u64) -> KernelStats {
    KernelStats {
        name: name.into(),
        full_name: name.into(),
        symbol: name.into(),
        times: durations(calls, each_ns),
        grid: [4_096, 1, 1],
        block: [256, 1, 1],
        shapes: 1,
        registers: 32,
        occupancy: Some(0.75),
        streams: 1,
        concurrent_ns: Some(0),
        ..KernelStats::default()
    }
}

/// Of page-locked memory, not blocking and while no kernel ran unless that is changed.
pub(super) fn copies(kind: &str, calls: u64, each_ns: u64, each_bytes: u64) -> CopyStats {
    CopyStats {
        kind: kind.into(),
        exposed_ns: Some(calls * each_ns),
        times: durations(calls, each_ns),
        bytes: calls * each_bytes,
        streams: 1,
        ..CopyStats::default()
    }
}

pub(super) fn pageable(kind: &str, calls: u64, each_ns: u64, each_bytes: u64) -> CopyStats {
    let copies = copies(kind, calls, each_ns, each_bytes);
    CopyStats {
        pageable_calls: calls,
        pageable_ns: copies.times.total_ns,
        ..copies
    }
}

pub(super) fn api(name: &str, kind: &str, calls: u64, each_ns: u64) -> ApiStats {
    ApiStats {
        name: name.into(),
        kind: kind.into(),
        times: durations(calls, each_ns),
        failed: 0,
    }
}

/// A function whose calls all took the same, all of it its own.
pub(super) fn function(name: &str, calls: u64, each_ns: u64) -> Function {
    let times = SpanStats {
        total_ns: calls * each_ns,
        self_ns: calls * each_ns,
        mean_ns: each_ns,
        max_ns: each_ns,
        p50_ns: each_ns,
        p99_ns: each_ns,
        ..SpanStats::default()
    };
    Function {
        name: name.into(),
        calls,
        cpu: times.clone(),
        gpu: Some(GpuSpanStats {
            timed_calls: calls,
            timed_ns: times.total_ns,
            times,
            ..GpuSpanStats::default()
        }),
        has_stream: true,
        activity: GpuActivity {
            busy_calls: calls,
            work_streams: 1,
            ..GpuActivity::default()
        },
        ..Function::default()
    }
}

impl Function {
    pub(super) fn kernels(mut self, kernels: impl Into<Vec<KernelStats>>) -> Self {
        self.activity.kernels = kernels.into();
        self.counted()
    }

    pub(super) fn copied(mut self, copies: impl Into<Vec<CopyStats>>) -> Self {
        self.activity.copies = copies.into();
        self.counted()
    }

    /// Busy for what its own work took, idle for the rest.
    pub(super) fn counted(mut self) -> Self {
        let work = &mut self.activity;
        let copied: u64 = work.copies.iter().map(|copies| copies.times.calls).sum();
        work.launches = work.kernels.iter().map(|kernel| kernel.times.calls).sum();
        work.activities = work.launches + copied;
        let kernels: u64 = work
            .kernels
            .iter()
            .map(|kernel| kernel.times.total_ns)
            .sum();
        let copies: u64 = work.copies.iter().map(|copies| copies.times.total_ns).sum();
        let busy = kernels + copies;
        self.busy(busy)
    }

    pub(super) fn busy(mut self, busy_ns: u64) -> Self {
        let total = self.gpu.as_ref().map_or(0, |gpu| gpu.times.total_ns);
        self.activity.busy_ns = Some(busy_ns);
        self.activity.idle_ns = Some(total.saturating_sub(busy_ns));
        self
    }

    /// Launches of kernels per call, with those of functions inside.
    pub(super) fn launching(mut self, per_call: u64) -> Self {
        self.activity.launches = per_call * self.calls;
        self.activity.activities = self.activity.launches;
        self
    }

    /// GPU self time, where functions inside have the rest.
    pub(super) fn own(mut self, self_ns: u64) -> Self {
        if let Some(gpu) = &mut self.gpu {
            gpu.times.self_ns = self_ns;
        }
        self
    }

    pub(super) fn calls_cuda(mut self, api: impl Into<Vec<ApiStats>>) -> Self {
        self.activity.api = api.into();
        self
    }

    /// States work per call.
    pub(super) fn states(mut self, bytes: Option<f64>, flops: Option<f64>) -> Self {
        let calls = self.calls as f64;
        self.bytes = bytes.map(|bytes| bytes * calls);
        self.flops = flops.map(|flops| flops * calls);
        if let Some(gpu) = &mut self.gpu {
            gpu.timed_bytes = self.bytes;
            gpu.timed_flops = self.flops;
        }
        self
    }

    /// Without a GPU time: marked `cpu`.
    pub(super) fn on_the_cpu(mut self) -> Self {
        self.gpu = None;
        self.cpu_only = true;
        self.has_stream = false;
        self
    }
}

/// A program of these functions, called in this tree: function, place of its parent in the list,
/// calls.
pub(super) fn program(
    device: Device,
    functions: impl Into<Vec<Function>>,
    tree: &[(&str, Option<u32>, u64)],
) -> Profile {
    let mut functions = functions.into();
    for function in &mut functions {
        if let Some(gpu) = &mut function.gpu {
            gpu.device = Some(0);
        }
    }
    let at = |name: &str| functions.iter().position(|function| function.name == name);
    let node = |(id, (name, parent, calls)): (usize, &(&str, Option<u32>, u64))| TreeNode {
        id: id as u32,
        parent: *parent,
        name: (*name).into(),
        function: at(name).map(|at| at as u32),
        calls: *calls,
        ..TreeNode::default()
    };
    let tree = tree.iter().enumerate().map(node).collect();
    let api = functions.iter().flat_map(|f| f.activity.api.clone());
    let mut profile = Profile {
        program: "program".into(),
        wall_ns: 200 * MS,
        api: api.collect(),
        devices: vec![device],
        tree,
        cupti: Some(CuptiCompleteness {
            records: 1_000,
            ..CuptiCompleteness::default()
        }),
        kernels: functions
            .iter()
            .flat_map(|f| f.activity.kernels.clone())
            .collect(),
        copies: functions
            .iter()
            .flat_map(|f| f.activity.copies.clone())
            .collect(),
        functions,
        ..Profile::default()
    };
    profile
        .kernels
        .sort_by_key(|kernel| std::cmp::Reverse(kernel.times.total_ns));
    profile.diagnostics.event_overhead_ns = Some(1_300);
    busy_by_its_work(&mut profile);
    profile
}

/// The device is busy for what all kernels, copies and memsets took, and waits between them for as
/// long as the function that is idle for the longest.
pub(super) fn busy_by_its_work(profile: &mut Profile) {
    let kernel_ns = profile.kernels.iter().map(|k| k.times.total_ns).sum();
    let copy_only_ns = profile.copies.iter().map(|c| c.times.total_ns).sum();
    let idle = profile.functions.iter().filter_map(|f| f.activity.idle_ns);
    let records = BusyRecords {
        kernel_ns,
        copy_only_ns,
        gaps: 1,
        idle_launch_ns: idle.max().unwrap_or(0),
        ..BusyRecords::default()
    };
    busy_for(profile, records);
}

/// The busy and idle time of the device that these records show.
pub(super) fn busy_for(profile: &mut Profile, records: BusyRecords) {
    profile.gpu_busy = vec![GpuBusy {
        busy_ns: records.kernel_ns + records.copy_only_ns,
        records: Some(records),
        ..GpuBusy::default()
    }];
}

/// Something beside what is looked at, so that nothing is all of the time.
pub(super) fn beside(each_ns: u64) -> Function {
    function("beside", 100, each_ns).kernels([kernel("beside", 100, each_ns)])
}

pub(super) fn one(mut function: Function, change: impl FnOnce(&mut Function)) -> Profile {
    change(&mut function);
    program(h200(), [function, beside(100 * US)], &[])
}
