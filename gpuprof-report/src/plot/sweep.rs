//! Finds the sweeps among the benchmarks of a profile.

use std::collections::{HashMap, HashSet};

use super::number::is_positive;
use crate::profile::{Benchmark, Device, Parameter, Precision, Profile};

/// The results of one benchmark on one device.
pub(super) struct Sweep<'a> {
    pub(super) name: &'a str,
    pub(super) ordinal: u32,
    pub(super) device: Option<&'a Device>,
    /// Name of the parameter of the x axis.
    pub(super) axis: &'a str,
    /// The parameters with the same value in all results.
    pub(super) constants: Vec<&'a Parameter>,
    /// The combinations of the other parameters, without the constants.
    pub(super) implementations: Vec<Vec<String>>,
    pub(super) modes: Vec<&'a str>,
    pub(super) series: Vec<Series>,
}

/// The results of an implementation in one mode, by ascending x.
pub(super) struct Series {
    /// Index into `Sweep::implementations`.
    pub(super) implementation: usize,
    /// Index into `Sweep::modes`.
    pub(super) mode: usize,
    pub(super) points: Vec<Point>,
}

#[derive(Clone, Copy)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) median_ns: f64,
    /// The ends of the median's interval, ns.
    pub(super) interval_ns: Option<(f64, f64)>,
    pub(super) work: Work,
}

/// The stated work of a call.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Work {
    pub(super) bytes: Option<f64>,
    pub(super) flops: Option<f64>,
    /// The device's peak for these FLOPs, FLOP/s; `None` without them.
    pub(super) peak_flops: Option<f64>,
}

impl Sweep<'_> {
    /// The label of an implementation; empty if there is only one.
    pub(super) fn implementation(&self, index: usize) -> String {
        let parts = self.implementations.get(index);
        parts.map(|parts| parts.join(", ")).unwrap_or_default()
    }

    /// The label of a series.
    pub(super) fn series_label(&self, series: &Series) -> String {
        let mode = self.modes.get(series.mode).copied().unwrap_or_default();
        match self.implementation(series.implementation) {
            implementation if implementation.is_empty() => mode.to_owned(),
            implementation => format!("{implementation}, {mode}"),
        }
    }

    pub(super) fn points(&self) -> impl Iterator<Item = &Point> {
        self.series.iter().flat_map(|series| &series.points)
    }
}

/// All sweeps, in the order in which their benchmarks first appear.
pub(super) fn sweeps(profile: &Profile) -> Vec<Sweep<'_>> {
    let usable = |benchmark: &&Benchmark| is_positive(benchmark.median_ns);
    let groups = grouped(profile.benchmarks.iter().filter(usable), |benchmark| {
        (benchmark.name.as_str(), benchmark.device)
    });
    let groups = groups.into_iter();
    groups
        .filter_map(|((name, ordinal), group)| sweep(profile, name, ordinal, &group))
        .collect()
}

fn sweep<'a>(
    profile: &'a Profile,
    name: &'a str,
    ordinal: u32,
    group: &[&'a Benchmark],
) -> Option<Sweep<'a>> {
    let axis = axis(group)?;
    let mut devices = profile.devices.iter();
    let device = devices.find(|device| device.ordinal == ordinal);
    let group: Vec<(f64, &Benchmark)> = group
        .iter()
        .filter_map(|benchmark| Some((value_of(benchmark, axis)?, *benchmark)))
        .collect();
    let mut uses: HashMap<&Parameter, usize> = HashMap::new();
    for (_, benchmark) in &group {
        let distinct: HashSet<&Parameter> = benchmark.parameters.iter().collect();
        for parameter in distinct {
            *uses.entry(parameter).or_default() += 1;
        }
    }
    let is_constant = |parameter: &&Parameter| uses.get(*parameter) == Some(&group.len());
    let others = |benchmark: &'a Benchmark| -> Vec<&'a Parameter> {
        let parameters = benchmark.parameters.iter();
        parameters
            .filter(|parameter| parameter.name != axis)
            .collect()
    };
    let mut modes = Vec::new();
    let mut implementations = Vec::new();
    let mut series = Vec::new();
    let by_parameters = grouped(group.iter(), |(_, benchmark)| others(benchmark));
    for (parameters, results) in by_parameters {
        let implementation = implementations.len();
        let varying = parameters.iter().filter(|p| !is_constant(p));
        implementations.push(varying.map(|p| label(p)).collect());
        for (mode, results) in grouped(results.into_iter(), |(_, one)| one.mode.as_str()) {
            let mut points: Vec<Point> = results
                .iter()
                .map(|(x, benchmark)| point(profile, device, *x, benchmark))
                .collect();
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
            series.push(Series {
                implementation,
                mode: index_of(&mut modes, mode),
                points,
            });
        }
    }
    let first = group.first().map(|(_, benchmark)| others(benchmark));
    let constants = first.unwrap_or_default().into_iter().filter(is_constant);
    Some(Sweep {
        name,
        ordinal,
        device,
        axis,
        constants: constants.collect(),
        implementations,
        modes,
        series,
    })
}

/// The parameter with the most distinct numbers, the last of several; `None` if none has two.
fn axis<'a>(group: &[&'a Benchmark]) -> Option<&'a str> {
    let all = group.iter().flat_map(|benchmark| &benchmark.parameters);
    let by_name = grouped(all, |parameter| parameter.name.as_str());
    by_name
        .into_iter()
        .map(|(name, values)| {
            let numbers = values
                .iter()
                .filter_map(|parameter| number(&parameter.value));
            let distinct: HashSet<u64> = numbers.map(f64::to_bits).collect();
            (name, distinct.len())
        })
        .filter(|(_, distinct)| *distinct >= 2)
        .max_by_key(|(_, distinct)| *distinct)
        .map(|(name, _)| name)
}

fn value_of(benchmark: &Benchmark, axis: &str) -> Option<f64> {
    let mut parameters = benchmark.parameters.iter();
    number(&parameters.find(|parameter| parameter.name == axis)?.value)
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|value| is_positive(*value))
}

/// A number says little without its name.
pub(super) fn label(parameter: &Parameter) -> String {
    let Parameter { name, value } = parameter;
    if value.parse::<f64>().is_ok() || value.parse::<bool>().is_ok() {
        format!("{name}={value}")
    } else {
        value.clone()
    }
}

fn point(profile: &Profile, device: Option<&Device>, x: f64, benchmark: &Benchmark) -> Point {
    let stated = |amount: Option<u64>| amount.filter(|amount| *amount > 0).map(|n| n as f64);
    let function = profile.functions.get(benchmark.function as usize);
    let precision = function.and_then(|function| function.precision);
    let precision = precision.unwrap_or(Precision::F32);
    let interval = benchmark.median_low_ns.zip(benchmark.median_high_ns);
    let median = benchmark.median_ns;
    let is_around = |&(low, high): &(f64, f64)| {
        is_positive(low) && low <= median && median <= high && high.is_finite()
    };
    let flops = stated(benchmark.flops);
    let peak_flops = || stated(device?.peak_flops(precision));
    Point {
        x,
        median_ns: benchmark.median_ns,
        interval_ns: interval.filter(is_around),
        work: Work {
            bytes: stated(benchmark.bytes),
            flops,
            peak_flops: flops.and_then(|_| peak_flops()),
        },
    }
}

/// Items by key, in the order in which the keys first appear.
fn grouped<T, K: Clone + Eq + std::hash::Hash>(
    items: impl Iterator<Item = T>,
    key: impl Fn(&T) -> K,
) -> Vec<(K, Vec<T>)> {
    let mut places: HashMap<K, usize> = HashMap::new();
    let mut groups: Vec<(K, Vec<T>)> = Vec::new();
    for item in items {
        let key = key(&item);
        let place = *places.entry(key.clone()).or_insert(groups.len());
        match groups.get_mut(place) {
            Some((_, group)) => group.push(item),
            None => groups.push((key, vec![item])),
        }
    }
    groups
}

fn index_of<'a>(modes: &mut Vec<&'a str>, mode: &'a str) -> usize {
    modes
        .iter()
        .position(|known| *known == mode)
        .unwrap_or_else(|| {
            modes.push(mode);
            modes.len() - 1
        })
}
