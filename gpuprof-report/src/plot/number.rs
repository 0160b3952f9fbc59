//! Numbers as labels.

/// Whether a logarithmic axis has a place for it.
pub(super) fn is_positive(value: f64) -> bool {
    value.is_finite() && value > 0.0
}

/// Three significant digits without trailing zeros: `0.05`, `12.5`, `10,000`, `1e-9`.
pub(super) fn short(value: f64) -> String {
    if !(1e-3..1e6).contains(&value) {
        let text = format!("{value:.2e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{exponent}", without_zeros(digits));
    }
    let decimals = (2.0 - value.log10().floor()).clamp(0.0, 6.0) as usize;
    grouped(without_zeros(&format!("{value:.decimals$}")))
}

/// A time, in the unit that makes it 1 to 999.
pub(super) fn time(ns: f64) -> String {
    // What rounds to 1,000 of a unit is 1 of the next.
    let (size, unit) = match ns {
        ns if ns < 999.5 => (1.0, "ns"),
        ns if ns < 999.5e3 => (1e3, "µs"),
        ns if ns < 999.5e6 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    format!("{} {unit}", short(ns / size))
}

/// Bytes, in the largest binary unit.
pub(super) fn bytes(amount: f64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let fits = |(power, _): &(i32, &str)| amount >= f64::from(*power).exp2();
    match units.into_iter().find(fits) {
        Some((power, unit)) => format!("{} {unit}", short(amount / f64::from(power).exp2())),
        None => format!("{} B", short(amount)),
    }
}

/// How the values of one axis are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    /// `16 Ki`.
    Binary,
    /// `16 K`.
    Decimal,
}

impl Style {
    /// Prefixes from 10,000 on; binary ones if they make all large values whole.
    pub(super) fn for_values(values: &[f64]) -> Self {
        let large = |value: &&f64| **value >= 1024.0;
        if !values.iter().any(|value| (1e4..1e15).contains(value)) {
            return Self::Plain;
        }
        if values
            .iter()
            .filter(large)
            .all(|value| value % 1024.0 == 0.0)
        {
            Self::Binary
        } else {
            Self::Decimal
        }
    }

    pub(super) fn format(self, value: f64) -> String {
        let units: [(f64, &str); 4] = match self {
            Self::Plain => return plain(value),
            Self::Binary => [(40, "Ti"), (30, "Gi"), (20, "Mi"), (10, "Ki")]
                .map(|(power, unit)| (f64::from(power).exp2(), unit)),
            Self::Decimal => [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "K")],
        };
        // 1,536 KiB and not 1.5 MiB: a value of a sweep is written without rounding if that is
        // possible.
        let whole = |(size, _): &(f64, &str)| value % size == 0.0 && value / size < 1e4;
        let fits = |(size, _): &(f64, &str)| value >= *size;
        let unit = units.into_iter().find(whole);
        match unit.or_else(|| units.into_iter().find(fits)) {
            Some((size, unit)) => format!("{} {unit}", plain(value / size)),
            None => plain(value),
        }
    }
}

/// Whole numbers below a million in full.
fn plain(value: f64) -> String {
    if value < 1e6 && value.fract() == 0.0 {
        grouped(&format!("{value}"))
    } else {
        short(value)
    }
}

fn without_zeros(digits: &str) -> &str {
    if digits.contains('.') {
        digits.trim_end_matches('0').trim_end_matches('.')
    } else {
        digits
    }
}

/// With commas in whole numbers from 10,000 on.
fn grouped(digits: &str) -> String {
    if digits.len() < 5 || digits.contains('.') {
        return digits.to_owned();
    }
    let (head, tail) = digits.split_at(digits.len() - 3);
    format!("{head},{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_short() {
        let shown = [0.05, 12.5, 1.0, 999.6, 10_000.0, 123_456.0, 1e-9, 2.5e300].map(short);
        let expected = [
            "0.05", "12.5", "1", "1000", "10,000", "123,456", "1e-9", "2.5e300",
        ];
        assert_eq!(shown, expected);
        let shown = [2.5, 999.6, 50_000.0, 2e6, 3e9, 1e-4].map(time);
        assert_eq!(shown, ["2.5 ns", "1 µs", "50 µs", "2 ms", "3 s", "1e-4 ns"]);
        let shown = [100.0, 52_428_800.0, 262_144.0].map(bytes);
        assert_eq!(shown, ["100 B", "50 MiB", "256 KiB"]);
    }

    #[test]
    fn values_of_an_axis_are_written_in_one_style() {
        let labels = |values: &[f64]| -> Vec<String> {
            let style = Style::for_values(values);
            values.iter().map(|value| style.format(*value)).collect()
        };
        assert_eq!(labels(&[512.0, 1024.0, 8192.0]), ["512", "1024", "8192"]);
        let powers = [512.0, 1024.0, 1_572_864.0, 16_777_216.0];
        assert_eq!(labels(&powers), ["512", "1 Ki", "1536 Ki", "16 Mi"]);
        assert_eq!(labels(&[100.0, 1500.0, 1e6]), ["100", "1.5 K", "1 M"]);
        assert_eq!(labels(&[0.5, 3.0, 123_457.0]), ["0.5", "3", "123 K"]);
        assert_eq!(labels(&[1.0, 1e300]), ["1", "1e300"]);
    }
}
