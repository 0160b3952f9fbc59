//! Counters that follow from the events: whether a device is busy, and how many copies it makes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;

use super::rows::item_at;
use super::{ActivityKind, Trace};
use crate::profile::CopyKind;

/// Name of the counter that is 1 while a kernel, copy or memset runs, and otherwise 0.
pub(super) const BUSY: &str = "GPU busy";
/// Name of the counter of copies that run; memsets are none.
pub(super) const COPIES: &str = "copies in flight";
/// Name of the counter that is 1 while a GPU span is open, and otherwise 0.
pub(super) const SPAN_OPEN: &str = "GPU span open";

/// A value of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CounterSample {
    pub(super) device: u32,
    pub(super) name: &'static str,
    pub(super) time_ns: u64,
    pub(super) value: u32,
}

/// Gives every change of the devices' counters to `sink`, counter by counter in the order of time.
/// A trace without activities has [`SPAN_OPEN`] in place of the others.
pub(super) fn sample(
    trace: &Trace,
    sink: &mut dyn FnMut(CounterSample) -> io::Result<()>,
) -> io::Result<()> {
    let device = |stream: u32| Some(item_at(&trace.streams, stream)?.device);
    if trace.activities.is_empty() {
        let spans = trace.gpu_spans.iter();
        let spans =
            spans.filter_map(|span| Some((device(span.stream)?, span.start_ns, span.end_ns)));
        return count(spans.collect(), SPAN_OPEN, 1, sink);
    }
    let activities = |is_counted: fn(&ActivityKind) -> bool| {
        let activities = trace.activities.iter();
        activities
            .filter(move |activity| is_counted(&activity.kind))
            .filter_map(|activity| {
                Some((device(activity.stream)?, activity.start_ns, activity.end_ns))
            })
            .collect()
    };
    count(activities(|_| true), BUSY, 1, sink)?;
    count(activities(is_copy), COPIES, u32::MAX, sink)
}

fn is_copy(kind: &ActivityKind) -> bool {
    matches!(kind, ActivityKind::Copy { kind, .. } if *kind != CopyKind::Memset)
}

/// Counts up to `most` how many of the intervals (device, start, end) are open.
fn count(
    mut intervals: Vec<(u32, u64, u64)>,
    name: &'static str,
    most: u32,
    sink: &mut dyn FnMut(CounterSample) -> io::Result<()>,
) -> io::Result<()> {
    intervals.retain(|(_, start_ns, end_ns)| start_ns < end_ns);
    intervals.sort_unstable();
    for intervals in intervals.chunk_by(|(left, ..), (right, ..)| left == right) {
        let mut last = 0;
        let mut change = |device: u32, time_ns: u64, open: usize| {
            let value = u32::try_from(open).unwrap_or(u32::MAX).min(most);
            if std::mem::replace(&mut last, value) == value {
                return Ok(());
            }
            sink(CounterSample {
                device,
                name,
                time_ns,
                value,
            })
        };
        let mut ends = BinaryHeap::new();
        let mut intervals = intervals.iter().peekable();
        while let Some(&(device, now_ns, end_ns)) = intervals.next() {
            ends.push(Reverse(end_ns));
            let next_ns = intervals.peek().map(|&&(_, start_ns, _)| start_ns);
            if next_ns == Some(now_ns) {
                continue;
            }
            change(device, now_ns, ends.len())?;
            while let Some(Reverse(end_ns)) = ends.peek().copied() {
                if next_ns.is_some_and(|next_ns| next_ns < end_ns) {
                    break;
                }
                while ends.peek() == Some(&Reverse(end_ns)) {
                    ends.pop();
                }
                // What ends as the next begins is one change with it.
                if next_ns != Some(end_ns) {
                    change(device, end_ns, ends.len())?;
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::hand_made::{copy, kernel, one_kernel, stream};
    use super::super::{ActivityKind, Trace};
    use super::{BUSY, COPIES, CounterSample, sample};
    use crate::profile::CopyKind;

    fn samples(trace: &Trace) -> Vec<CounterSample> {
        let mut samples = Vec::new();
        sample(trace, &mut |sample| {
            samples.push(sample);
            Ok(())
        })
        .unwrap();
        samples
    }

    /// The value of a counter at a time.
    fn value(samples: &[CounterSample], name: &str, device: u32, time_ns: u64) -> u32 {
        let of_counter = samples
            .iter()
            .filter(|sample| sample.name == name && sample.device == device);
        let mut until = of_counter.filter(|sample| sample.time_ns <= time_ns);
        until.next_back().map_or(0, |sample| sample.value)
    }

    #[test]
    fn counters_have_the_right_value_at_any_time_and_no_needless_sample() {
        for seed in 0..100 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut trace = one_kernel();
            trace.streams = vec![
                stream(0, 7, false),
                stream(0, 8, false),
                stream(1, 7, false),
            ];
            trace.activities.clear();
            for _ in 0..random.u32(1..20) {
                let start = random.u64(0..50);
                let times = [start, start + random.u64(0..9)];
                let on = random.u32(0..3);
                trace.activities.push(if random.bool() {
                    copy(on, CopyKind::DtoH, times)
                } else {
                    kernel(on, 2, times[0], times[1], 0)
                });
            }
            let samples = samples(&trace);
            for (device, time_ns) in (0..2).flat_map(|device| (0..70).map(move |ns| (device, ns))) {
                let running = trace.activities.iter().filter(|activity| {
                    let on = trace.streams[activity.stream as usize].device;
                    on == device && (activity.start_ns..activity.end_ns).contains(&time_ns)
                });
                let is_copy = |kind: &ActivityKind| matches!(kind, ActivityKind::Copy { .. });
                let copies = running.clone().filter(|activity| is_copy(&activity.kind));
                let busy = u32::from(running.clone().next().is_some());
                assert_eq!(value(&samples, BUSY, device, time_ns), busy, "seed {seed}");
                let copies = u32::try_from(copies.count()).unwrap();
                assert_eq!(
                    value(&samples, COPIES, device, time_ns),
                    copies,
                    "seed {seed}"
                );
            }
            for pair in samples.windows(2) {
                let counter = |sample: &CounterSample| (sample.name, sample.device);
                if counter(&pair[0]) == counter(&pair[1]) {
                    assert!(pair[0].time_ns < pair[1].time_ns, "seed {seed}");
                    assert_ne!(pair[0].value, pair[1].value, "seed {seed}");
                }
            }
        }
    }
}
