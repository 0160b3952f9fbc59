//! Numbers and names as the words of a finding.

use crate::profile::{Finding, Function, KernelStats};
use crate::{sanitize, table};

/// Characters of a name in an evidence.
const MAX_NAME_CHARS: usize = 32;

/// `part` of `whole` in percent.
pub(super) fn percent(part: u64, whole: u64) -> String {
    share(part as f64 / whole.max(1) as f64)
}

/// A share in percent, with one decimal below ten.
pub(super) fn share(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        0.0 => "0 %".to_owned(),
        percent if percent < 0.1 => "<0.1 %".to_owned(),
        percent if percent < 9.95 => format!("{percent:.1} %"),
        percent => format!("{percent:.0} %"),
    }
}

/// A duration with its unit.
pub(super) fn ns(ns: u64) -> String {
    table::duration(ns).text()
}

/// A number with separators.
pub(super) fn count(n: u64) -> String {
    table::count(n).text()
}

/// A count with its noun, in the singular or the plural.
pub(super) fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { many })
}

/// A mean of counts, with one decimal unless it is whole or at least 100.
pub(super) fn mean(sum: u64, of: u64) -> String {
    let mean = sum as f64 / of.max(1) as f64;
    if mean.fract() < 0.05 || mean >= 100.0 {
        count(mean.round() as u64)
    } else {
        format!("{mean:.1}")
    }
}

/// Calls of CUDA per call of a function, for example `, 2.5/call`; nothing without a function.
pub(super) fn per_call(calls: u64, function: Option<&Function>) -> String {
    function.map_or_else(String::new, |function| {
        format!(", {}/call", mean(calls, function.calls))
    })
}

/// A size, for example `4.2 MB`.
pub(super) fn bytes(n: u64) -> String {
    const UNITS: [(f64, &str); 4] = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    let unit = UNITS.iter().find(|(size, _)| n as f64 >= *size);
    unit.map_or_else(
        || format!("{n} B"),
        |(size, unit)| format!("{:.1} {unit}", n as f64 / size),
    )
}

/// A rate of bytes, for example `5.24 GB/s`.
pub(super) fn bytes_per_s(bytes: u64, ns: u64) -> String {
    let rate = bytes as f64 / (ns.max(1) as f64 / 1e9);
    table::prefixed_rate(rate).map_or_else(String::new, |number| {
        let separator = if number.text().contains(' ') { "" } else { " " };
        format!("{}{separator}B/s", number.text())
    })
}

/// `47 % of GPU time: ` at the beginning of a text; nothing if it names a place in the source, with
/// which it is long enough.
pub(super) fn of_gpu_time(kernel: &KernelStats, activity_ns: u64, place: &str) -> String {
    match place {
        "" => format!(
            "{} of GPU time: ",
            percent(kernel.times.total_ns, activity_ns)
        ),
        _ => String::new(),
    }
}

/// Whether the evidence of a finding names the kernel.
#[must_use]
pub fn names_kernel(finding: &Finding, kernel: &KernelStats) -> bool {
    let name = kernel_name(kernel);
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = finding.evidence.match_indices(name.as_str());
    // Another name may contain this one.
    found.any(|(start, _)| {
        let (before, rest) = finding.evidence.split_at(start);
        let after = rest.strip_prefix(name.as_str()).unwrap_or_default();
        !before.ends_with(is_part) && !after.starts_with(is_part)
    })
}

/// A kernel's shown name, sanitized and short.
pub(super) fn kernel_name(kernel: &KernelStats) -> String {
    name(&kernel.name)
}

/// A name, sanitized and short.
pub(super) fn name(name: &str) -> String {
    sanitize::short(name, MAX_NAME_CHARS).into_owned()
}
