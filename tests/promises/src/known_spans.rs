//! Spans around kernels of known length, and what a profile says of them.

use gpuprof::Profile;
use gpuprof::profile::{Function, GpuSpanStats};

use crate::observation::{Observation, time};
use crate::tolerance::Tolerance;

/// The spans that one function is expected to have. All times in ns.
pub struct KnownSpans {
    pub(crate) name: &'static str,
    calls: u64,
    shortest: u64,
    longest: u64,
    total: u64,
    own: u64,
    /// Timed calls nested in them.
    nested: u64,
    /// Calls that shared the time of their stream.
    divided: u64,
}

impl KnownSpans {
    /// Calls of the function `name` with kernels of these lengths, and nothing nested in them.
    pub fn new(name: &'static str, lengths: impl IntoIterator<Item = u64>) -> Self {
        let lengths: Vec<u64> = lengths.into_iter().collect();
        let total = lengths.iter().sum();
        Self {
            name,
            calls: lengths.len() as u64,
            shortest: lengths.iter().copied().min().unwrap_or(0),
            longest: lengths.iter().copied().max().unwrap_or(0),
            total,
            own: total,
            nested: 0,
            divided: 0,
        }
    }

    /// The same of which `calls` share time with others and keep `own` ns of it in sum.
    pub fn divided(mut self, calls: u64, own: u64) -> Self {
        (self.divided, self.own) = (calls, own);
        self
    }

    /// The same around `nested` timed calls, which leave them `own` ns in sum.
    pub fn around_others(mut self, nested: u64, own: u64) -> Self {
        (self.nested, self.own) = (nested, own);
        self
    }

    fn text(&self, within: Tolerance) -> String {
        let range = range(self.calls, self.shortest, self.longest);
        let sums = sums(self.total, self.own, self.divided);
        let around = match self.nested * within.nested_ns / 1_000 {
            0 => String::new(),
            us => format!(" (by {us} µs less around {} nested calls)", self.nested),
        };
        format!("{}: {} = {range}; {sums}{around}", self.name, self.calls)
    }

    fn are_those_of(&self, function: &Function, within: Tolerance) -> bool {
        let within = Tolerance {
            shorter_ns: within.shorter_ns + self.nested * within.nested_ns,
            ..within
        };
        let times_match = |gpu: &GpuSpanStats| {
            let times = &gpu.times;
            gpu.timed_calls == self.calls
                && within.accepts(times.min_ns, self.shortest)
                && within.accepts(times.max_ns, self.longest)
                && within.accepts(times.total_ns, self.total)
                && within.accepts(times.self_ns, self.own)
        };
        function.calls == self.calls
            && function.gpu.as_ref().is_some_and(times_match)
            && function.gpu_divided_calls == self.divided
            && !function.gpu_overlaps
    }
}

/// Whether every run of every function was timed with its kernel's duration, and no call of gpuprof
/// failed.
pub fn observe(
    what: impl Into<String>,
    profile: &Profile,
    expected: &[KnownSpans],
    within: Tolerance,
) -> Observation {
    let mut measured = Vec::new();
    let mut wanted = Vec::new();
    let mut is_kept = profile.diagnostics.errors.is_empty();
    for spans in expected {
        let found = function(profile, spans.name);
        is_kept &= found.is_some_and(|found| spans.are_those_of(found, within));
        measured.push(found.map_or_else(|| format!("{}: none", spans.name), text));
        wanted.push(spans.text(within));
    }
    measured.push(errors(profile));
    wanted.push(format!("{within}, no error"));
    Observation::new(what, measured.join("; "), wanted.join("; "), is_kept)
}

fn text(function: &Function) -> String {
    let range = times(function.gpu.as_ref());
    let total = function
        .gpu
        .as_ref()
        .map_or([0; 2], |gpu| [gpu.times.total_ns, gpu.times.self_ns]);
    let sums = sums(total[0], total[1], function.gpu_divided_calls);
    format!("{}: {} = {range}; {sums}", function.name, function.calls)
}

/// The number of timed runs and the range of their times.
pub fn times(gpu: Option<&GpuSpanStats>) -> String {
    gpu.map_or("0 timed".into(), |gpu| {
        range(gpu.timed_calls, gpu.times.min_ns, gpu.times.max_ns)
    })
}

fn range(timed: u64, shortest: u64, longest: u64) -> String {
    let us = |ns: u64| ns as f64 / 1e3;
    format!(
        "{timed} timed, {:.1} to {:.1} µs",
        us(shortest),
        us(longest)
    )
}

fn sums(total: u64, own: u64, divided: u64) -> String {
    let [total, own] = [total, own].map(|ns| time(ns as f64));
    format!("{total}, self {own}, {divided} divided")
}

/// The errors of gpuprof's own driver calls.
pub fn errors(profile: &Profile) -> String {
    let errors = profile.diagnostics.errors.iter();
    let errors: Vec<_> = errors
        .map(|error| format!("{} {} ×{}", error.call, error.name, error.count))
        .collect();
    if errors.is_empty() {
        "no error".into()
    } else {
        errors.join(", ")
    }
}

/// The function with this display name. Of several, that with the most calls: the program has every
/// promise's functions, and those of other promises were not called.
pub fn function<'a>(profile: &'a Profile, name: &str) -> Option<&'a Function> {
    let functions = profile.functions.iter();
    let of_that_name = functions.filter(|function| function.name == name);
    of_that_name.max_by_key(|function| function.calls)
}
