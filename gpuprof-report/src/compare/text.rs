//! Figures of a comparison as text.

use crate::table;

/// A duration such as `1.41 µs`.
pub(super) fn duration(ns: f64) -> String {
    table::duration(ns.round() as u64).text()
}

/// A share such as `3 %`.
pub(super) fn percent(share: f64) -> String {
    let text = format!("{:.1}", share * 100.0);
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}

/// A change such as `+5.02 %`; of a factor of ten and more, the factor.
pub(super) fn change(change: f64) -> String {
    let ratio = 1.0 + change;
    match ratio {
        10.0.. => format!("× {ratio:.1}"),
        2.0.. => format!("+{:.0} %", change * 100.0),
        _ => {
            let text = format!("{:+.2} %", change * 100.0);
            match text.as_str() {
                "-0.00 %" => "+0.00 %".to_owned(),
                _ => text,
            }
        }
    }
}

/// An interval of changes.
pub(super) fn interval((low, high): (f64, f64)) -> String {
    format!("{} to {}", change(low), change(high))
}

/// A probability to two digits.
pub(super) fn probability(p: f64) -> String {
    match p {
        ..0.0001 => "<0.0001".to_owned(),
        ..0.01 => format!("{p:.4}"),
        _ => format!("{p:.2}"),
    }
}

/// A number of things, such as `1 run` or `5 runs`.
pub(super) fn things(n: usize, one: &str) -> String {
    match n {
        1 => format!("1 {one}"),
        n => format!("{n} {one}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_have_two_decimals_and_large_ones_are_factors() {
        assert_eq!(change(0.0502), "+5.02 %");
        assert_eq!(change(-0.5), "-50.00 %");
        assert_eq!(change(-0.000_001), "+0.00 %");
        assert_eq!(change(1.5), "+150 %");
        assert_eq!(change(11.0), "× 12.0");
        assert_eq!(interval((-0.01, 0.02)), "-1.00 % to +2.00 %");
        assert_eq!(
            (percent(0.1), percent(0.025)),
            ("10 %".into(), "2.5 %".into())
        );
        assert_eq!(probability(0.000_01), "<0.0001");
        assert_eq!(
            (probability(0.0012), probability(0.5)),
            ("0.0012".into(), "0.50".into())
        );
        assert_eq!(
            (things(1, "run"), things(5, "run")),
            ("1 run".into(), "5 runs".into())
        );
    }
}
