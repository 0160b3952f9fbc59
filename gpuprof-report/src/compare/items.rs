//! The functions and kernels of all runs, with their times per call.

use std::collections::HashMap;

use super::bounds::{self, PeakShares};
use super::comparison::ItemKind;
use super::measure::{Measure, PerCall, function_per_call, kernel_per_call};
use crate::profile::{Function, KernelStats, MemoryKind, Profile};

/// The most functions, and the most kernels, that are compared.
const MAX_ITEMS: usize = 65_536;

/// One item, and its figure in each run: those of the old side first.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RunsOfItem {
    pub(super) kind: ItemKind,
    pub(super) name: String,
    pub(super) measure: Measure,
    pub(super) runs: Vec<Option<PerCall>>,
    /// Device memory that a function allocated in each run, nested functions included, bytes.
    pub(super) allocated: Vec<Option<u64>>,
    /// How close it came to the peaks of the device in each run.
    pub(super) peak_shares: Vec<Option<PeakShares>>,
}

/// Rows of a key, one column per run.
struct RunColumns<T> {
    index: HashMap<String, usize>,
    rows: Vec<Vec<Option<T>>>,
    runs: usize,
}

impl<T: Copy> RunColumns<T> {
    fn new(runs: usize) -> Self {
        Self {
            index: HashMap::new(),
            rows: Vec::new(),
            runs,
        }
    }

    fn set(&mut self, key: String, run: usize, value: T) {
        if self.rows.len() >= MAX_ITEMS && !self.index.contains_key(&key) {
            return;
        }
        let at = *self.index.entry(key).or_insert_with(|| {
            self.rows.push(vec![None; self.runs]);
            self.rows.len() - 1
        });
        if let Some(cell) = self.rows.get_mut(at).and_then(|row| row.get_mut(run)) {
            *cell = Some(value);
        }
    }
}

/// Every function that ran, and every kernel, of any run.
pub(super) fn collect(old: &[Profile], new: &[Profile]) -> Vec<RunsOfItem> {
    let profiles: Vec<&Profile> = old.iter().chain(new).collect();
    let mut functions = RunColumns::<&Function>::new(profiles.len());
    let mut kernels = RunColumns::<&KernelStats>::new(profiles.len());
    for (run, profile) in profiles.iter().enumerate() {
        let mut keys = Namesakes::default();
        for function in profile.functions.iter().filter(|of| of.calls > 0) {
            // Not by line: an edit above a function moves it.
            let key = format!("{}\n{}", function.module, function.name);
            functions.set(keys.next(key), run, function);
        }
        let mut keys = Namesakes::default();
        for kernel in profile.kernels.iter().filter(|of| of.times.calls > 0) {
            let key = format!("{}\n{}", kernel_name(kernel), kernel.device);
            kernels.set(keys.next(key), run, kernel);
        }
    }
    let functions = functions.rows.iter();
    let functions = functions.filter_map(|row| function_item(row, &profiles));
    let kernels = kernels.rows.iter();
    let kernels = kernels.filter_map(|row| kernel_item(row, &profiles));
    functions.chain(kernels).collect()
}

/// Tells apart what has one name in a profile, by its order.
#[derive(Default)]
struct Namesakes(HashMap<String, u32>);

impl Namesakes {
    fn next(&mut self, key: String) -> String {
        let number = self.0.entry(key.clone()).or_default();
        *number += 1;
        match *number {
            1 => key,
            number => format!("{key}\n{number}"),
        }
    }
}

/// The demangled name, which does not change with a compiler's hashes.
fn kernel_name(kernel: &KernelStats) -> &str {
    let mut names = [&kernel.full_name, &kernel.name, &kernel.symbol]
        .into_iter()
        .filter(|name| !name.is_empty());
    names.next().map_or("", String::as_str)
}

/// The best figure that all runs have; CPU time otherwise.
fn function_item(row: &[Option<&Function>], profiles: &[&Profile]) -> Option<RunsOfItem> {
    let runs = |measure: Measure| -> Vec<Option<PerCall>> {
        let runs = row
            .iter()
            .map(|function| function_per_call((*function)?, measure));
        runs.collect()
    };
    let is_everywhere = |runs: &Vec<Option<PerCall>>| {
        row.iter()
            .zip(runs)
            .all(|(function, run)| function.is_some() == run.is_some())
    };
    let mut measures = Measure::OF_FUNCTIONS.into_iter();
    let measure = measures
        .find(|measure| is_everywhere(&runs(*measure)))
        .unwrap_or(Measure::Cpu);
    let runs = runs(measure);
    let first = row.iter().flatten().next()?;
    let peaks = row.iter().zip(profiles);
    let peaks = peaks.map(|(function, run)| bounds::of_function((*function)?, &run.devices));
    runs.iter().any(Option::is_some).then(|| RunsOfItem {
        kind: ItemKind::Function,
        name: first.name.clone(),
        measure,
        runs,
        allocated: row.iter().map(|function| allocated((*function)?)).collect(),
        peak_shares: peaks.collect(),
    })
}

fn allocated(function: &Function) -> Option<u64> {
    let mut memory = function.memory.iter();
    let of_device = memory.find(|memory| memory.kind == MemoryKind::Device)?;
    Some(of_device.inclusive.allocated_bytes)
}

fn kernel_item(row: &[Option<&KernelStats>], profiles: &[&Profile]) -> Option<RunsOfItem> {
    let first = row.iter().flatten().next()?;
    let name = if first.name.is_empty() {
        kernel_name(first)
    } else {
        &first.name
    };
    let runs = row.iter().map(|kernel| kernel_per_call(&(*kernel)?.times));
    let peaks = row.iter().zip(profiles);
    let peaks = peaks.map(|(kernel, run)| bounds::of_kernel((*kernel)?, &run.devices));
    Some(RunsOfItem {
        kind: ItemKind::Kernel,
        name: name.to_owned(),
        measure: Measure::Kernel,
        runs: runs.collect(),
        allocated: Vec::new(),
        peak_shares: peaks.collect(),
    })
}
