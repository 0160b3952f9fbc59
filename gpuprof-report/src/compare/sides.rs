//! What the runs of a side say about themselves.

use super::estimate::median;
use crate::profile::{MAX_META_PAIRS, MemoryKind, MemoryUse, Profile};
use crate::{sanitize, table};

/// A summary of the runs of one version.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct SideSummary {
    /// Number of runs.
    pub runs: usize,
    /// Median of their wall times, ns.
    pub wall_ns: u64,
    /// Whether any run was on the simulated device, whose GPU times are modelled.
    pub simulated: bool,
}

impl SideSummary {
    pub(super) fn new(runs: &[Profile]) -> Self {
        let walls = runs.iter().map(|run| run.wall_ns as f64).collect();
        let mut devices = runs.iter().flat_map(|run| &run.devices);
        Self {
            runs: runs.len(),
            wall_ns: median(walls).unwrap_or(0.0) as u64,
            simulated: devices.any(|device| device.simulated),
        }
    }
}

/// A fact about the runs of both sides, such as their commit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fact {
    /// What it is.
    pub key: String,
    /// The values of the old runs, each once; empty if no run has one.
    pub old: String,
    /// The values of the new runs.
    pub new: String,
}

impl Fact {
    /// Whether the sides differ in it.
    #[must_use]
    pub fn differs(&self) -> bool {
        self.old != self.new
    }
}

/// Values of a side that are listed.
const MAX_VALUES: usize = 3;
/// Characters of a value that are kept.
const MAX_VALUE_CHARS: usize = 200;

/// The different values of some runs, in their order.
pub(super) fn values(runs: &[Profile], value: impl Fn(&Profile) -> Option<String>) -> String {
    let mut known: Vec<String> = Vec::new();
    let mut more = 0;
    for value in runs
        .iter()
        .filter_map(value)
        .filter(|value| !value.is_empty())
    {
        let value = sanitize::short(&value, MAX_VALUE_CHARS).into_owned();
        if known.contains(&value) {
            continue;
        }
        match known.len() {
            ..MAX_VALUES => known.push(value),
            _ => more += 1,
        }
    }
    let list = known.join(", ");
    match more {
        0 => list,
        more => format!("{list} and {more} more"),
    }
}

/// The devices of a run; `None` if it names none.
pub(super) fn devices(run: &Profile) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    for device in &run.devices {
        if !names.contains(&device.name.as_str()) {
            names.push(&device.name);
        }
    }
    (!names.is_empty()).then(|| names.join(" and "))
}

/// The CUDA version of a run's driver.
pub(super) fn driver(run: &Profile) -> Option<String> {
    Some(run.devices.first()?.driver.clone())
}

/// A size of one kind of memory, over all devices, if it was recorded.
fn memory(run: &Profile, kind: MemoryKind, size: fn(&MemoryUse) -> u64) -> Option<String> {
    let uses = run.memory.iter().flat_map(|memory| &memory.uses);
    let sizes = uses.filter(|of| of.kind == kind).map(size);
    let bytes = sizes
        .reduce(u64::saturating_add)
        .filter(|bytes| *bytes > 0)?;
    Some(table::size(bytes).text())
}

/// Every fact that a run of either side states.
pub(super) fn facts(old: &[Profile], new: &[Profile]) -> Vec<Fact> {
    type Of = fn(&Profile) -> Option<String>;
    let known: [(&str, Of); 4] = [
        ("program", |run| Some(run.program.clone())),
        ("device", devices),
        ("CUDA driver", driver),
        ("host", |run| Some(run.host.clone())),
    ];
    let fact = |key: &str, value: &dyn Fn(&Profile) -> Option<String>| Fact {
        key: key.to_owned(),
        old: values(old, value),
        new: values(new, value),
    };
    let mut keys: Vec<&str> = Vec::new();
    for pair in old.iter().chain(new).flat_map(|run| &run.meta) {
        if keys.len() < MAX_META_PAIRS && !keys.contains(&pair.key.as_str()) {
            keys.push(&pair.key);
        }
    }
    let known = known.iter().map(|(key, of)| fact(key, of));
    let memory: [(&str, Of); 3] = [
        ("peak device memory", |run| {
            memory(run, MemoryKind::Device, |of| of.peak_bytes)
        }),
        ("allocated device memory", |run| {
            memory(run, MemoryKind::Device, |of| of.totals.allocated_bytes)
        }),
        ("peak pinned memory", |run| {
            memory(run, MemoryKind::Pinned, |of| of.peak_bytes)
        }),
    ];
    let memory = memory.map(|(key, of)| fact(key, &of));
    let stated = keys.iter().map(|key| {
        let value = |run: &Profile| {
            let pair = run.meta.iter().find(|pair| pair.key == **key)?;
            Some(pair.value.clone())
        };
        Fact {
            key: sanitize::short(key, MAX_VALUE_CHARS).into_owned(),
            ..fact("", &value)
        }
    });
    let facts = known.chain(memory).chain(stated);
    facts
        .filter(|fact| !(fact.old.is_empty() && fact.new.is_empty()))
        .collect()
}
