//! Prometheus's text format 0.0.4, which Prometheus, the Pushgateway and node_exporter's textfile
//! collector read. The last two do not read OpenMetrics, which the crate prometheus-client writes.

use std::io::{self, Write};

use super::buckets::{BOUNDS, Durations};
use super::family::{Families, Family, Kind, Label, Sample, Value, seconds};

/// The `Content-Type` of the text.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Writes the metrics.
///
/// # Errors
/// Those of `out`.
pub fn write(families: &Families, out: &mut impl Write) -> io::Result<()> {
    for family in &families.families {
        let name = family.full_name();
        writeln!(out, "# HELP {name} {}", family.help)?;
        writeln!(out, "# TYPE {name} {}", kind(family))?;
        for sample in &family.samples {
            write_sample(out, &name, sample, &families.labels)?;
        }
    }
    Ok(())
}

fn kind(family: &Family) -> &'static str {
    match family.kind {
        Kind::Counter => "counter",
        Kind::Gauge => "gauge",
        Kind::Histogram => "histogram",
    }
}

fn write_sample(
    out: &mut impl Write,
    name: &str,
    sample: &Sample,
    shared: &[Label],
) -> io::Result<()> {
    let labels = labels(sample.labels.iter().chain(shared));
    match &sample.value {
        Value::Whole(value) => writeln!(out, "{name}{{{labels}}} {value}"),
        Value::Ns(ns) => writeln!(out, "{name}{{{labels}}} {:?}", seconds(*ns)),
        Value::Durations(durations) => write_histogram(out, name, &labels, durations),
    }
}

fn write_histogram(
    out: &mut impl Write,
    name: &str,
    labels: &str,
    durations: &Durations,
) -> io::Result<()> {
    let comma = if labels.is_empty() { "" } else { "," };
    let mut within = 0_u64;
    for (bound, count) in BOUNDS.iter().zip(durations.buckets) {
        within = within.saturating_add(count);
        let le = seconds(*bound);
        writeln!(
            out,
            "{name}_bucket{{{labels}{comma}le=\"{le:?}\"}} {within}"
        )?;
    }
    let Durations { count, sum_ns, .. } = durations;
    writeln!(out, "{name}_bucket{{{labels}{comma}le=\"+Inf\"}} {count}")?;
    writeln!(out, "{name}_sum{{{labels}}} {:?}", seconds(*sum_ns))?;
    writeln!(out, "{name}_count{{{labels}}} {count}")
}

fn labels<'a>(labels: impl Iterator<Item = &'a Label>) -> String {
    let mut text = String::new();
    for (name, value) in labels {
        if !text.is_empty() {
            text.push(',');
        }
        text.push_str(name);
        text.push_str("=\"");
        for c in value.chars() {
            match c {
                '\\' => text.push_str("\\\\"),
                '"' => text.push_str("\\\""),
                '\n' => text.push_str("\\n"),
                c => text.push(c),
            }
        }
        text.push('"');
    }
    text
}
