//! The counters of a time line as rows of its page: each value is an event until the next one.

use super::json_text::JsonText;
use super::time_line_texts::Texts;
use crate::trace::{CounterTrack, Trace, labels};

/// Values of a counter on the page.
const MAX_VALUES: usize = 500;
/// The kind of these events in `assets/time_line_canvas.js`.
const COUNTER: u64 = 6;

/// Adds a row for each counter that has a value between `from_ns` and `to_ns`.
pub(super) fn write(
    trace: &Trace,
    (from_ns, to_ns): (u64, u64),
    texts: &mut Texts,
    json: &mut JsonText,
) {
    for track in &trace.counters {
        let values = shown(track, from_ns, to_ns);
        if values.is_empty() {
            continue;
        }
        let group = match track.device {
            Some(device) => labels::device(trace, device),
            None => "CPU".to_owned(),
        };
        let name = texts.position(&track.name) as u64;
        json.object(|json| {
            json.key("name").integer(name);
            json.key("group").integer(texts.position(&group) as u64);
            json.key("is_counter").boolean(true);
            let mut before = from_ns;
            json.key("events").array(|json| {
                for (at, (start, value)) in values.iter().enumerate() {
                    let end = values.get(at + 1).map_or(to_ns, |(next, _)| *next);
                    json.array(|json| {
                        json.number(start.saturating_sub(before) as f64);
                        json.integer(end.saturating_sub(*start));
                        json.integer(0);
                        json.integer(COUNTER);
                        json.integer(name);
                        json.null();
                        json.number(*value);
                    });
                    before = *start;
                }
            });
        });
    }
}

/// The values in a range, from the one that holds at its start. Of many, the largest of neighbours.
fn shown(track: &CounterTrack, from_ns: u64, to_ns: u64) -> Vec<(u64, f64)> {
    let is_before = |sample: &(u64, f64)| sample.0 <= from_ns;
    let first = track.samples.partition_point(is_before).saturating_sub(1);
    let samples = track.samples.get(first..).unwrap_or_default();
    let samples: Vec<(u64, f64)> = (samples.iter())
        .filter(|(time, value)| *time < to_ns && value.is_finite() && *value >= 0.0)
        .map(|(time, value)| ((*time).max(from_ns), *value))
        .collect();
    let neighbours = samples.len().div_ceil(MAX_VALUES).max(1);
    let largest = |samples: &[(u64, f64)]| {
        let values = samples.iter().map(|(_, value)| *value);
        Some((samples.first()?.0, values.fold(0.0, f64::max)))
    };
    samples.chunks(neighbours).filter_map(largest).collect()
}

#[cfg(test)]
mod tests {
    use super::{CounterTrack, MAX_VALUES, shown};

    fn track(samples: Vec<(u64, f64)>) -> CounterTrack {
        CounterTrack {
            samples,
            ..CounterTrack::default()
        }
    }

    #[test]
    fn the_value_that_holds_at_the_start_is_shown_from_the_start() {
        let track = track(vec![(5, 1.0), (10, 2.0), (30, 3.0), (90, 4.0)]);
        assert_eq!(shown(&track, 20, 90), [(20, 2.0), (30, 3.0)]);
        assert_eq!(shown(&track, 0, 11), [(5, 1.0), (10, 2.0)]);
        assert_eq!(shown(&track, 95, 99), [(95, 4.0)]);
    }

    #[test]
    fn of_many_values_the_peak_is_kept() {
        let mut samples: Vec<(u64, f64)> = (0..10_000).map(|at| (at, 1.0)).collect();
        samples[4_321].1 = 77.0;
        let shown = shown(&track(samples), 0, 10_000);
        assert!(shown.len() <= MAX_VALUES);
        assert!(shown.iter().any(|(_, value)| *value == 77.0));
    }
}
