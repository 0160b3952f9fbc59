//! Numbers and names as the words of a finding.

use crate::profile::KernelStats;
use crate::{sanitize, table};

/// `part` of `whole` in percent.
pub(super) fn percent(part: u64, whole: u64) -> String {
    share(part as f64 / whole.max(1) as f64)
}

/// A share in percent.
pub(super) fn share(share: f64) -> String {
    table::percent(share).map_or_else(String::new, |number| format!("{} %", number.text()))
}

/// A duration with its unit.
pub(super) fn ns(ns: u64) -> String {
    table::duration(ns).text()
}

/// A count with its noun, in the singular or the plural.
pub(super) fn counted(n: u64, one: &str, many: &str) -> String {
    format!(
        "{} {}",
        table::count(n).text(),
        if n == 1 { one } else { many }
    )
}

/// A mean of counts, with one decimal unless it is whole or at least 100.
pub(super) fn mean(sum: u64, of: u64) -> String {
    let mean = sum as f64 / of.max(1) as f64;
    if mean.fract() < 0.05 || mean >= 100.0 {
        table::count(mean.round() as u64).text()
    } else {
        format!("{mean:.1}")
    }
}

/// A kernel's shown name, sanitized.
pub(super) fn kernel_name(kernel: &KernelStats) -> String {
    sanitize::name(&kernel.name).into_owned()
}

/// A rate with prefix and unit, for example `3.91 TFLOP/s`.
pub(super) fn rate(per_s: f64, unit: &str) -> String {
    table::prefixed_rate(per_s).map_or_else(String::new, |number| {
        let separator = if number.text().contains(' ') { "" } else { " " };
        format!("{}{separator}{unit}", number.text())
    })
}
