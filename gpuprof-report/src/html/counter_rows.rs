//! The counters of a time line as rows of its page: each value is an event until the next one.

use super::json_text::JsonText;
use super::time_line_texts::Texts;
use crate::trace::{CounterTrack, Trace, labels};

/// Columns of the page's time line, in each of which a counter has its largest value.
const COLUMNS: u128 = 500;
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

/// The values in a range, from the one that holds at its start. Of many, the largest of each
/// column.
fn shown(track: &CounterTrack, from_ns: u64, to_ns: u64) -> Vec<(u64, f64)> {
    let is_before = |sample: &(u64, f64)| sample.0 <= from_ns;
    let first = track.samples.partition_point(is_before).saturating_sub(1);
    let samples = track.samples.get(first..).unwrap_or_default();
    let samples: Vec<(u64, f64)> = (samples.iter())
        .filter(|(time, value)| *time < to_ns && value.is_finite() && *value >= 0.0)
        .map(|(time, value)| ((*time).max(from_ns), *value))
        .collect();
    let ns = u128::from(to_ns.saturating_sub(from_ns)).max(1);
    let column = |(time, _): &(u64, f64)| u128::from(time - from_ns) * COLUMNS / ns;
    let mut values = Vec::new();
    for of_column in samples.chunk_by(|a, b| column(a) == column(b)) {
        let [(start, _), rest @ ..] = of_column else {
            continue;
        };
        let largest = of_column.iter().map(|(_, value)| *value);
        values.push((*start, largest.fold(0.0, f64::max)));
        // The end of the last sample before a gap, which may be long.
        values.extend(rest.last().filter(|(_, value)| *value == 0.0));
    }
    values
}

#[cfg(test)]
mod tests {
    use super::{COLUMNS, CounterTrack, shown};

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
        assert_eq!(shown.len() as u128, COLUMNS);
        assert!(shown.iter().any(|(_, value)| *value == 77.0));
    }

    #[test]
    fn no_value_holds_over_a_gap() {
        let mut samples: Vec<(u64, f64)> = (0..1_000).map(|at| (at, 1.0)).collect();
        samples.push((1_000, 0.0));
        samples.extend((9_000..10_000).map(|at| (at, 2.0)));
        let shown = shown(&track(samples), 0, 10_000);
        let before_gap = shown.iter().rfind(|(time, _)| *time <= 5_000);
        assert_eq!(before_gap, Some(&(1_000, 0.0)));
    }
}
