//! What several rules need of a profile: sums, and which functions are nested in which.

use std::collections::{HashMap, HashSet};

use super::nesting::Nesting;
use super::run_idle::RunIdleTime;
use crate::profile::{CopyStats, Device, Function, KernelStats, Profile};

/// What a function launched in calls nested in another one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Launched {
    pub(super) kernels_ns: u64,
    /// Copies between host and device.
    pub(super) copies: u64,
    pub(super) copies_ns: u64,
}

/// A profile, and what is computed from it once.
pub(super) struct ProfileIndex<'a> {
    pub(super) profile: &'a Profile,
    /// Time of all kernels, copies and memsets, ns: the 100 % of a share of GPU time.
    pub(super) activity_ns: u64,
    /// Idle time of the run; `None` if it is unknown.
    pub(super) idle: Option<RunIdleTime>,
    /// Of each device, the time during which a kernel ran over the time of all its kernels.
    kernel_scale: HashMap<u32, f64>,
    /// The function in which a kernel took the most time, by symbol and device.
    home: HashMap<(&'a str, u32), (usize, u64)>,
    pub(super) nesting: Nesting,
}

impl<'a> ProfileIndex<'a> {
    pub(super) fn new(profile: &'a Profile) -> Self {
        Self {
            profile,
            activity_ns: kernel_ns(&profile.kernels).saturating_add(copy_ns(&profile.copies)),
            idle: RunIdleTime::for_profile(profile),
            kernel_scale: kernel_scale(profile),
            home: homes(profile),
            nesting: Nesting::for_profile(profile),
        }
    }

    /// The functions with their indexes.
    pub(super) fn functions(&self) -> impl Iterator<Item = (usize, &'a Function)> {
        self.profile.functions.iter().enumerate()
    }

    /// The function at this index.
    pub(super) fn function(&self, at: Option<usize>) -> Option<&'a Function> {
        self.profile.functions.get(at?)
    }

    /// Whether `inner` runs nested in `outer`. Of two functions that call each other neither does.
    pub(super) fn is_inside(&self, outer: usize, inner: usize) -> bool {
        let nesting = &self.nesting;
        outer != inner && nesting.runs(outer, inner) > 0 && nesting.runs(inner, outer) == 0
    }

    /// The function at index `outer` and those nested in it, each with the share of its runs that
    /// were nested there, by index.
    pub(super) fn parts(&self, outer: usize) -> Vec<(usize, &'a Function, f64)> {
        let part = |inner: usize, runs: u64| {
            let function = self.function(Some(inner))?;
            let share = (runs as f64 / function.calls.max(1) as f64).min(1.0);
            (share > 0.0).then_some((inner, function, share))
        };
        let others = self
            .nesting
            .inside(outer)
            .filter(|(inner, _)| *inner != outer);
        let mut parts: Vec<_> = others
            .filter_map(|(inner, runs)| part(inner, runs))
            .collect();
        if let Some(function) = self.function(Some(outer)) {
            let own = parts.partition_point(|(inner, ..)| *inner < outer);
            parts.insert(own, (outer, function, 1.0));
        }
        parts
    }

    /// What the function at index `outer` and those nested in it launched there, by the index of
    /// the function. `None` if the call tree has no activities.
    pub(super) fn launched_inside(&self, outer: usize) -> Option<HashMap<u32, Launched>> {
        let tree = &self.profile.tree;
        if tree.iter().all(|node| node.activities.is_empty()) {
            return None;
        }
        // Parents stand before their children.
        let mut inside: HashSet<u32> = HashSet::new();
        let mut launched: HashMap<u32, Launched> = HashMap::new();
        for node in tree {
            let is_outer = node.function.is_some_and(|at| at as usize == outer);
            let is_nested = node.parent.is_some_and(|parent| inside.contains(&parent));
            let Some(function) = node.function.filter(|_| is_outer || is_nested) else {
                continue;
            };
            inside.insert(node.id);
            let sums = launched.entry(function).or_default();
            for activity in &node.activities {
                let copies = activity
                    .copies
                    .and_then(|at| self.profile.copies.get(at as usize));
                if activity.kernel.is_some() {
                    sums.kernels_ns = sums.kernels_ns.saturating_add(activity.total_ns);
                } else if copies.is_some_and(|copies| copies.kind.is_between_host_and_device()) {
                    sums.copies = sums.copies.saturating_add(activity.calls);
                    sums.copies_ns = sums.copies_ns.saturating_add(activity.total_ns);
                }
            }
        }
        Some(launched)
    }

    /// The function without GPU work that took the most time of its own on the host outside of CUDA
    /// calls, per thread.
    pub(super) fn longest_on_host(&self) -> Option<(&'a Function, u64)> {
        let functions = self.profile.functions.iter();
        let on_host = functions.filter(|function| {
            let work = &function.activity;
            work.activities == 0 && function.calls > 0
        });
        let times = on_host.map(|function| {
            let threads = u64::from(function.threads.max(1));
            let in_calls_ns = sum(&function.activity.api, |call| call.times.total_ns);
            (
                function,
                function.cpu.self_ns.saturating_sub(in_calls_ns) / threads,
            )
        });
        times.max_by_key(|(_, ns)| *ns)
    }

    pub(super) fn device(&self, ordinal: u32) -> Option<&'a Device> {
        let mut devices = self.profile.devices.iter();
        devices.find(|device| device.ordinal == ordinal)
    }

    /// Index of the function in which a kernel took the most time.
    pub(super) fn main_function(&self, kernel: &KernelStats) -> Option<usize> {
        let home = self.home.get(&(kernel.symbol.as_str(), kernel.device));
        home.map(|(at, _)| *at)
    }

    /// The part of a device's time that a kernel took, ns: its own time, less its share of the time
    /// that kernels of the device ran at once.
    pub(super) fn device_ns(&self, kernel: &KernelStats) -> u64 {
        let scale = self.kernel_scale.get(&kernel.device).copied();
        (kernel.times.total_ns as f64 * scale.unwrap_or(1.0)) as u64
    }

    /// Time for which a kernel ran alone on its device, ns; `None` if that is unknown.
    pub(super) fn alone_ns(&self, kernel: &KernelStats) -> Option<u64> {
        Some(kernel.times.total_ns.saturating_sub(kernel.concurrent_ns?))
    }
}

fn kernel_scale(profile: &Profile) -> HashMap<u32, f64> {
    let mut sums: HashMap<u32, u64> = HashMap::new();
    for kernel in &profile.kernels {
        let sum = sums.entry(kernel.device).or_default();
        *sum = sum.saturating_add(kernel.times.total_ns);
    }
    let busy = profile.gpu_busy.iter();
    let scales = busy.filter_map(|busy| {
        let sum = *sums.get(&busy.device)?;
        let scale = busy.records?.kernel_ns as f64 / sum.max(1) as f64;
        Some((busy.device, scale.min(1.0)))
    });
    scales.collect()
}

fn homes(profile: &Profile) -> HashMap<(&str, u32), (usize, u64)> {
    let mut homes: HashMap<(&str, u32), (usize, u64)> = HashMap::new();
    for (at, function) in profile.functions.iter().enumerate() {
        for kernel in &function.activity.kernels {
            let ns = kernel.times.total_ns;
            let home = homes
                .entry((&kernel.symbol, kernel.device))
                .or_insert((at, 0));
            if ns > home.1 {
                *home = (at, ns);
            }
        }
    }
    homes
}

/// `part` of a time.
pub(super) fn scaled(ns: u64, part: f64) -> u64 {
    (ns as f64 * part) as u64
}

/// Total time of kernels, ns.
pub(super) fn kernel_ns(kernels: &[KernelStats]) -> u64 {
    sum(kernels, |kernel| kernel.times.total_ns)
}

/// Total time of copies and memsets, ns.
pub(super) fn copy_ns(copies: &[CopyStats]) -> u64 {
    sum(copies, |copies| copies.times.total_ns)
}

/// The sum of a number over items.
pub(super) fn sum<'i, T: 'i>(
    items: impl IntoIterator<Item = &'i T>,
    of: impl Fn(&T) -> u64,
) -> u64 {
    items
        .into_iter()
        .fold(0, |sum, item| sum.saturating_add(of(item)))
}
