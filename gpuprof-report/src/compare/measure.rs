//! Which figure of a function or kernel is compared, and its value in one run.

use crate::histogram::BUCKETS_PER_OCTAVE;
use crate::profile::{DurationStats, Function, SpanStats};

/// What the compared times of an item are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Measure {
    /// GPU time of a kernel's launches.
    Kernel,
    /// GPU busy time per call.
    Busy,
    /// GPU span per call.
    Span,
    /// GPU time of nested spans, per call.
    Nested,
    /// CPU time per call.
    Cpu,
}

impl Measure {
    /// As tables name it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Busy => "GPU busy",
            Self::Span => "GPU span",
            Self::Nested => "GPU nested",
            Self::Cpu => "CPU",
        }
    }

    /// Those of functions, the best first.
    pub(super) const OF_FUNCTIONS: [Self; 4] = [Self::Busy, Self::Span, Self::Nested, Self::Cpu];

    /// Whether the GPU spends the time.
    pub(super) const fn is_gpu(self) -> bool {
        !matches!(self, Self::Cpu)
    }
}

/// A time per call in one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PerCall {
    pub(super) ns: f64,
    pub(super) calls: u64,
    /// 95th percentile of the calls, ns, if it is known.
    pub(super) p95_ns: Option<f64>,
    /// Whether most of the time is the item's own and not that of nested functions.
    pub(super) is_own: bool,
}

/// Of a function; `None` if the run has no such figure.
pub(super) fn function_per_call(function: &Function, measure: Measure) -> Option<PerCall> {
    let per_call = |total_ns: u64, calls: u64, is_own: bool| {
        let ns = total_ns as f64 / calls as f64;
        (calls > 0 && total_ns > 0).then_some(PerCall {
            ns,
            calls,
            p95_ns: None,
            is_own,
        })
    };
    let spans = |times: &SpanStats, calls: u64| {
        let ns = typical(times)?;
        Some(PerCall {
            ns,
            calls,
            p95_ns: Some(times.p95_ns as f64),
            is_own: times.self_ns >= times.total_ns / 2,
        })
    };
    let is_own = || {
        let gpu = function.gpu.as_ref()?;
        Some(gpu.times.self_ns >= gpu.times.total_ns / 2)
    };
    let activity = &function.activity;
    match measure {
        Measure::Kernel => None,
        Measure::Busy => per_call(activity.busy_ns?, activity.busy_calls, is_own()?),
        Measure::Span => spans(&function.gpu.as_ref()?.times, function.calls),
        Measure::Nested => per_call(function.gpu_nested_ns, function.calls, false),
        Measure::Cpu => spans(&function.cpu, function.calls),
    }
}

/// Of a kernel: the mean of its launches, without the longest from ten launches on.
pub(super) fn kernel_per_call(times: &DurationStats) -> Option<PerCall> {
    let (calls, sum) = match times.calls {
        0 => return None,
        1..TRIMMED_FROM => (times.calls, times.total_ns),
        calls => (calls - 1, times.total_ns.saturating_sub(times.max_ns)),
    };
    let ns = sum as f64 / calls as f64;
    (ns > 0.0).then_some(PerCall {
        ns,
        calls: times.calls,
        p95_ns: None,
        is_own: true,
    })
}

/// Calls from which the longest are left out of a mean.
const TRIMMED_FROM: u64 = 10;

/// The mean of the calls without the longest one in a hundred, and without at least one call from
/// ten calls on, ns: one call that loads a module or meets a page fault does not decide it.
///
/// The times of the longest calls are those of the histogram, within 1/32, so that the mean is
/// within 1/3,200 of the true one unless they are far longer than the others.
pub(super) fn typical(times: &SpanStats) -> Option<f64> {
    let counts = times.histogram.iter().map(|bucket| bucket.count);
    let calls = counts.fold(0, u64::saturating_add);
    let mean = times.mean_ns as f64;
    if calls < TRIMMED_FROM {
        return (mean > 0.0).then_some(mean);
    }
    let longest = calls.div_ceil(100);
    // The longest call of all is known exactly.
    let mut left = longest - 1;
    let mut removed = times.max_ns as f64;
    let mut skipped = 1;
    for bucket in times.histogram.iter().rev() {
        let here = bucket.count.saturating_sub(skipped);
        skipped = skipped.saturating_sub(bucket.count);
        let (low, high) = bucket.bounds_ns().into_inner();
        let taken = here.min(left);
        removed += taken as f64 * (low as f64 + high as f64) / 2.0;
        left -= taken;
        if left == 0 {
            break;
        }
    }
    let trimmed = (mean * calls as f64 - removed) / (calls - longest) as f64;
    // A histogram that contradicts its mean decides nothing.
    let is_plausible = trimmed > 0.0 && trimmed <= mean * (1.0 + 1.0 / BUCKETS_PER_OCTAVE as f64);
    let typical = if is_plausible { trimmed } else { mean };
    (typical > 0.0).then_some(typical)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::Histogram;

    fn spans(samples: &[u64]) -> SpanStats {
        let mut histogram = Histogram::default();
        samples.iter().for_each(|ns| histogram.record(*ns));
        SpanStats {
            mean_ns: samples.iter().sum::<u64>() / samples.len() as u64,
            max_ns: *samples.iter().max().unwrap(),
            histogram: histogram.buckets().collect(),
            ..SpanStats::default()
        }
    }

    #[test]
    fn the_longest_calls_do_not_decide_a_mean() {
        let mut samples = vec![1_000; 99];
        samples.push(50_000_000);
        assert_eq!(typical(&spans(&samples)).unwrap().round(), 1_000.0);
        samples.extend([1_000; 900]);
        samples.extend([40_000_000; 1]);
        let found = typical(&spans(&samples)).unwrap();
        assert!((found - 1_000.0).abs() < 1_000.0, "{found}");
        // Few calls are taken as they are.
        assert_eq!(typical(&spans(&[1_000, 3_000])), Some(2_000.0));
        assert_eq!(typical(&SpanStats::default()), None);
    }

    #[test]
    fn a_change_of_all_calls_is_a_change_of_the_mean() {
        for ns in [900, 10_007, 123_456_789] {
            let even: Vec<u64> = (0..2_000).map(|at| ns + at % 7).collect();
            let slower: Vec<u64> = even.iter().map(|ns| ns * 105 / 100).collect();
            let ratio = typical(&spans(&slower)).unwrap() / typical(&spans(&even)).unwrap();
            assert!((ratio - 1.05).abs() < 0.003, "{ratio}");
        }
    }

    #[test]
    fn a_histogram_that_contradicts_its_mean_decides_nothing() {
        let mut times = spans(&[1_000; 50]);
        times.max_ns = u64::MAX;
        assert_eq!(typical(&times), Some(1_000.0));
    }
}
