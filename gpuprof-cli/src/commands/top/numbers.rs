//! Numbers in few columns.

/// A duration with three digits: `999 ns`, `12.3 ms`, `1234 s`.
pub(super) fn duration(ns: u64) -> String {
    let units = [(1e3, "µs"), (1e6, "ms"), (1e9, "s")];
    if ns < 1_000 {
        return format!("{ns} ns");
    }
    let value = ns as f64;
    let fits = |(scale, _): &(f64, &str)| (value / scale).round() < 1e3;
    let (scale, unit) = units.into_iter().find(fits).unwrap_or((1e9, "s"));
    format!("{} {unit}", three_digits(value / scale))
}

/// A count with three digits from 10,000 on: `9999`, `12.3k`, `4.56M`.
pub(super) fn count(number: u64) -> String {
    if number < 10_000 {
        return number.to_string();
    }
    scaled(number as f64)
}

/// A rate per second: `0`, `0.25`, `12.3`, `45.6k`.
pub(super) fn rate(per_s: f64) -> String {
    if per_s <= 0.0 {
        return "0".to_owned();
    }
    if per_s < 999.5 {
        three_digits(per_s)
    } else {
        scaled(per_s)
    }
}

/// A share of time: `0`, `<0.1`, `41.2`, `250`.
pub(super) fn percent(share: f64) -> String {
    let value = share * 100.0;
    if value <= 0.0 {
        return "0".to_owned();
    }
    match value {
        small if small < 0.05 => "<0.1".to_owned(),
        large if large >= 99.95 => format!("{large:.0}"),
        other => format!("{other:.1}"),
    }
}

fn scaled(number: f64) -> String {
    let units = [(1e3, "k"), (1e6, "M"), (1e9, "G")];
    let fits = |(scale, _): &(f64, &str)| (number / scale).round() < 1e3;
    let (scale, unit) = units.into_iter().find(fits).unwrap_or((1e12, "T"));
    format!("{}{unit}", three_digits(number / scale))
}

fn three_digits(value: f64) -> String {
    if value >= 99.95 {
        format!("{value:.0}")
    } else if value >= 9.995 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

/// The last `width` values as bars, the highest as a full one.
pub(super) fn spark_line(values: impl DoubleEndedIterator<Item = f64>, width: usize) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let mut last: Vec<f64> = values.rev().take(width).collect();
    last.reverse();
    let highest = last.iter().copied().fold(0.0, f64::max);
    let bar = |value: &f64| {
        // Nothing is not the lowest bar.
        if *value <= 0.0 || highest <= 0.0 {
            return ' ';
        }
        let index = (value / highest * BARS.len() as f64).ceil() as usize;
        BARS[index.clamp(1, BARS.len()) - 1]
    };
    last.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        for (ns, text) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_000, "1.00 µs"),
            (9_999, "10.0 µs"),
            (999_499, "999 µs"),
            (999_500, "1.00 ms"),
            (12_345_678, "12.3 ms"),
            (1_234_000_000_000, "1234 s"),
        ] {
            assert_eq!(duration(ns), text);
        }
        for (number, text) in [
            (9_999, "9999"),
            (12_345, "12.3k"),
            (999_600, "1.00M"),
            (u64::MAX, "18446744T"),
        ] {
            assert_eq!(count(number), text);
        }
        for (per_s, text) in [
            (0.0, "0"),
            (0.25, "0.25"),
            (999.6, "1.00k"),
            (45_600.0, "45.6k"),
        ] {
            assert_eq!(rate(per_s), text);
        }
        for (share, text) in [(0.0, "0"), (0.0001, "<0.1"), (0.412, "41.2"), (2.5, "250")] {
            assert_eq!(percent(share), text);
        }
    }

    #[test]
    fn the_highest_value_is_a_full_bar_and_none_is_empty() {
        let line = |values: &[f64], width| spark_line(values.iter().copied(), width);
        assert_eq!(line(&[0.0, 1.0, 4.0, 8.0], 8), " ▁▄█");
        assert_eq!(line(&[8.0, 0.1, 0.2], 2), "▄█");
        assert_eq!(line(&[0.0, 0.0], 8), "  ");
        assert_eq!(line(&[f64::NAN], 8).chars().count(), 1);
    }
}
