//! Numbers as digits: three significant ones, the unit chosen per value.
//!
//! An [`AlignedNumber`] keeps its parts apart, so that a column can be aligned on the decimal point
//! and on the unit.

/// A number ready to be aligned: `mark` + `whole` + `fraction`, then `unit`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AlignedNumber {
    /// `~`, `Σ` or nothing.
    pub(super) mark: &'static str,
    /// Digits before the decimal point.
    pub(super) whole: String,
    /// Decimal point and the digits after it, or nothing.
    pub(super) fraction: String,
    /// Unit, or nothing.
    pub(super) unit: &'static str,
}

impl AlignedNumber {
    fn new(digits: (String, String), unit: &'static str) -> Self {
        Self {
            mark: "",
            whole: digits.0,
            fraction: digits.1,
            unit,
        }
    }

    /// Text in the place of a number.
    pub(super) fn text_of(text: &str) -> Self {
        Self::new((text.to_owned(), String::new()), "")
    }

    /// The same number with a mark before it.
    pub(super) fn marked(mut self, mark: &'static str) -> Self {
        self.mark = mark;
        self
    }

    /// The same number with another unit.
    pub(super) fn with_unit(mut self, unit: &'static str) -> Self {
        self.unit = unit;
        self
    }

    /// As it stands in a sentence, for example `1.41 µs`.
    pub(crate) fn text(&self) -> String {
        let space = if self.unit.is_empty() { "" } else { " " };
        format!(
            "{}{}{}{space}{}",
            self.mark, self.whole, self.fraction, self.unit
        )
    }
}

/// A sum that stays at the largest number.
pub(super) fn total(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}

const MICROSECOND: f64 = 1e3;
const MILLISECOND: f64 = 1e6;
const SECOND: f64 = 1e9;
const HOUR: f64 = 3600.0 * SECOND;

/// A duration in nanoseconds, as ns, µs, ms, s or (from 10,000 s) hours.
pub(crate) fn duration(ns: u64) -> AlignedNumber {
    let value = ns as f64;
    if ns < 1_000 {
        return AlignedNumber::new((ns.to_string(), String::new()), "ns");
    }
    // The limit is held against the rounded value: 999.95 µs is 1.00 ms, not 1000 µs.
    let (scale, unit) = if (value / MICROSECOND).round() < 1e3 {
        (MICROSECOND, "µs")
    } else if (value / MILLISECOND).round() < 1e3 {
        (MILLISECOND, "ms")
    } else if (value / SECOND).round() < 1e4 {
        (SECOND, "s")
    } else {
        (HOUR, "h")
    };
    AlignedNumber::new(significant(value / scale), unit)
}

/// An exact count with thousands separators.
pub(crate) fn count(n: u64) -> AlignedNumber {
    AlignedNumber::new((thousands(u128::from(n)), String::new()), "")
}

/// A size in bytes, as B, kB, MB, GB or TB.
pub(crate) fn size(bytes: u64) -> AlignedNumber {
    let value = bytes as f64;
    let units = [(1e3, "kB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB")];
    if bytes < 1_000 {
        return AlignedNumber::new((bytes.to_string(), String::new()), "B");
    }
    let fits = |(scale, _): &(f64, &str)| (value / scale).round() < 1e3;
    let (scale, unit) = units.into_iter().find(fits).unwrap_or((1e12, "TB"));
    AlignedNumber::new(significant(value / scale), unit)
}

/// A share as a percentage with one decimal and no unit; `None` where it is not a number.
pub(crate) fn percent(share: f64) -> Option<AlignedNumber> {
    let value = share * 100.0;
    if !value.is_finite() || value < 0.0 {
        return None;
    }
    if value > 0.0 && value < 0.05 {
        return Some(AlignedNumber::new(("<0".into(), ".1".into()), ""));
    }
    let tenths = (value * 10.0).round() as u128;
    Some(AlignedNumber::new(
        (thousands(tenths / 10), format!(".{}", tenths % 10)),
        "",
    ))
}

/// A number with a given number of digits after the decimal point; less than half of the last digit
/// is shown as less than it.
pub(super) fn decimal(value: f64, digits: usize) -> AlignedNumber {
    let text = format!("{value:.digits$}");
    let is_zero = value > 0.0 && !text.contains(|c: char| ('1'..='9').contains(&c));
    let text = match (is_zero, digits) {
        (false, _) => text,
        (true, 0) => "<1".to_owned(),
        (true, digits) => format!("<0.{}1", "0".repeat(digits - 1)),
    };
    let (whole, fraction) = match text.find('.') {
        Some(point) => text.split_at(point),
        None => (text.as_str(), ""),
    };
    AlignedNumber::new((whole.to_owned(), fraction.to_owned()), "")
}

/// A rate with the prefix k, M, G, T or P as its unit; `None` where it is not a number.
pub(crate) fn prefixed_rate(per_s: f64) -> Option<AlignedNumber> {
    if !per_s.is_finite() || per_s < 0.0 {
        return None;
    }
    let (mut value, mut unit) = (per_s, "");
    for prefix in ["k", "M", "G", "T", "P"] {
        if value.round() < 1e3 {
            break;
        }
        (value, unit) = (value / 1e3, prefix);
    }
    Some(AlignedNumber::new(significant(value), unit))
}

/// Three significant digits, of which at most two are after the decimal point.
fn significant(value: f64) -> (String, String) {
    significant_digits(value, 2)
}

/// A number of three significant digits, of which at most `digits` are after the decimal point.
pub(super) fn three_digits(value: f64, digits: usize) -> AlignedNumber {
    AlignedNumber::new(significant_digits(value, digits), "")
}

/// Never fewer digits before the point than there are.
fn significant_digits(value: f64, most: usize) -> (String, String) {
    if value == 0.0 {
        return ("0".to_owned(), String::new());
    }
    let scaled = |digits: i32| (value * 10_f64.powi(digits)).round();
    let digits = 2 - value.log10().floor() as i32;
    // Held against the rounded value: 9.996 is 10.0.
    let digits = digits - i32::from(scaled(digits) >= 1e3);
    let digits = digits.clamp(0, most as i32);
    if digits == 0 && value >= 0.5 {
        return (thousands(value.round() as u128), String::new());
    }
    let rounded = scaled(digits) / 10_f64.powi(digits);
    let shown = if rounded == 0.0 { value } else { rounded };
    let number = decimal(shown, digits as usize);
    (number.whole, number.fraction)
}

fn thousands(n: u128) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn durations(cases: &[(u64, &str)]) {
        for (ns, text) in cases {
            assert_eq!(duration(*ns).text(), *text, "{ns} ns");
        }
    }

    #[test]
    fn durations_keep_three_digits_in_a_fitting_unit() {
        durations(&[
            (0, "0 ns"),
            (1, "1 ns"),
            (999, "999 ns"),
            (1_000, "1.00 µs"),
            (1_234, "1.23 µs"),
            (12_340, "12.3 µs"),
            (123_400, "123 µs"),
            (1_000_000, "1.00 ms"),
            (1_500_000_000, "1.50 s"),
            (1_234_000_000_000, "1,234 s"),
        ]);
    }

    #[test]
    fn durations_that_round_up_take_the_next_unit() {
        durations(&[
            (9_994, "9.99 µs"),
            (9_996, "10.0 µs"),
            (99_960, "100 µs"),
            (999_499, "999 µs"),
            (999_950, "1.00 ms"),
            (999_999_999, "1.00 s"),
            (9_999_400_000_000, "9,999 s"),
            (9_999_600_000_000, "2.78 h"),
        ]);
    }

    #[test]
    fn the_longest_duration_fits() {
        durations(&[(u64::MAX, "5,124,096 h")]);
        assert_eq!(count(u64::MAX).text(), "18,446,744,073,709,551,615");
    }

    #[test]
    fn counts_are_exact() {
        for (n, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(count(n).text(), text);
        }
    }

    #[test]
    fn percentages_have_one_decimal_and_never_show_something_as_nothing() {
        let cases = [
            (0.0, "0.0"),
            (0.000_4, "<0.1"),
            (0.000_6, "0.1"),
            (0.5, "50.0"),
            (0.999_9, "100.0"),
            (12.5, "1,250.0"),
        ];
        for (share, text) in cases {
            assert_eq!(
                percent(share).map(|n| n.text()).as_deref(),
                Some(text),
                "{share}"
            );
        }
    }

    #[test]
    fn rates_are_prefixed() {
        let cases = [(812.0, "812"), (999.7, "1.00 k"), (2.5e12, "2.50 T")];
        for (rate, text) in cases {
            let shown = prefixed_rate(rate).map(|n| n.text());
            assert_eq!(shown.as_deref(), Some(text));
        }
    }

    #[test]
    fn what_is_not_a_number_is_not_shown() {
        for value in [f64::NAN, f64::INFINITY, -1.0] {
            assert_eq!(percent(value), None);
            assert_eq!(prefixed_rate(value), None);
        }
    }
}
