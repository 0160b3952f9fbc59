//! Prometheus's text format 0.0.4, which Prometheus, the Pushgateway and node_exporter's textfile
//! collector read. The last two do not read OpenMetrics, which the crate prometheus-client writes.

use std::io::{self, Write};

use super::buckets::{BOUNDS, DurationBuckets};
use super::family::{
    Families, Family, MetricKind, SeriesLabel, SeriesSample, SeriesValue, seconds,
};

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
        MetricKind::Counter => "counter",
        MetricKind::Gauge => "gauge",
        MetricKind::Histogram => "histogram",
    }
}

fn write_sample(
    out: &mut impl Write,
    name: &str,
    sample: &SeriesSample,
    shared: &[SeriesLabel],
) -> io::Result<()> {
    let labels = labels(sample.labels.iter().chain(shared));
    match &sample.value {
        SeriesValue::Whole(value) => writeln!(out, "{name}{{{labels}}} {value}"),
        SeriesValue::Ns(ns) => writeln!(out, "{name}{{{labels}}} {:?}", seconds(*ns)),
        SeriesValue::Durations(durations) => write_histogram(out, name, &labels, durations),
    }
}

fn write_histogram(
    out: &mut impl Write,
    name: &str,
    labels: &str,
    durations: &DurationBuckets,
) -> io::Result<()> {
    let comma = if labels.is_empty() { "" } else { "," };
    let mut within = 0_u64;
    for (bound, count) in BOUNDS.iter().zip(durations.buckets) {
        within = within.saturating_add(count);
        let le = bound_text(*bound);
        writeln!(out, "{name}_bucket{{{labels}{comma}le=\"{le}\"}} {within}")?;
    }
    let DurationBuckets { count, sum_ns, .. } = durations;
    writeln!(out, "{name}_bucket{{{labels}{comma}le=\"+Inf\"}} {count}")?;
    writeln!(out, "{name}_sum{{{labels}}} {:?}", seconds(*sum_ns))?;
    writeln!(out, "{name}_count{{{labels}}} {count}")
}

/// A bound in seconds as Go writes it, with two digits of an exponent. The Pushgateway writes what
/// it was given again; Prometheus 2 compares bounds as texts.
fn bound_text(ns: u64) -> String {
    let text = format!("{:?}", seconds(ns));
    match text.split_once("e-") {
        Some((digits, exponent)) => format!("{digits}e-{exponent:0>2}"),
        None => text,
    }
}

fn labels<'a>(labels: impl Iterator<Item = &'a SeriesLabel>) -> String {
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

#[cfg(test)]
mod tests {
    use super::{BOUNDS, bound_text, write};
    use crate::metrics::{
        BaseUnit, DurationBuckets, Families, Family, MetricKind, SeriesSample, SeriesValue,
    };

    #[test]
    fn bounds_are_written_as_go_writes_them() {
        let texts: Vec<String> = BOUNDS.into_iter().map(bound_text).collect();
        let [first, .., last] = &texts[..] else {
            panic!("there are bounds");
        };
        assert_eq!((&**first, &**last), ("1.023e-06", "137.438953471"));
        assert_eq!(texts[6..8], ["6.5535e-05", "0.000131071"]);
        assert_eq!(texts[19..21], ["0.536870911", "1.073741823"]);
    }

    #[test]
    fn a_family_is_written_with_its_type_and_labels() {
        let mut durations = DurationBuckets {
            count: 3,
            sum_ns: 1_500_000_001,
            ..DurationBuckets::default()
        };
        durations.buckets[0] = 2;
        let family = |name, unit, kind, value| Family {
            name,
            unit,
            help: "Help.",
            kind,
            samples: vec![SeriesSample {
                labels: vec![("function", "a\\\"b\nc".to_owned())],
                value,
            }],
        };
        let families = Families {
            labels: vec![("host", "h".to_owned())],
            families: vec![
                family(
                    "calls",
                    None,
                    MetricKind::Counter,
                    SeriesValue::Whole(u64::MAX),
                ),
                family(
                    "live",
                    Some(BaseUnit::Bytes),
                    MetricKind::Gauge,
                    SeriesValue::Whole(7),
                ),
                family(
                    "gpu",
                    Some(BaseUnit::Seconds),
                    MetricKind::Histogram,
                    SeriesValue::Durations(Box::new(durations)),
                ),
            ],
        };
        let mut text = Vec::new();
        write(&families, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let labels = r#"function="a\\\"b\nc",host="h""#;
        let begin = format!(
            "# HELP calls_total Help.\n# TYPE calls_total counter\n\
             calls_total{{{labels}}} 18446744073709551615\n\
             # HELP live_bytes Help.\n# TYPE live_bytes gauge\nlive_bytes{{{labels}}} 7\n\
             # HELP gpu_seconds Help.\n# TYPE gpu_seconds histogram\n\
             gpu_seconds_bucket{{{labels},le=\"1.023e-06\"}} 2\n"
        );
        assert!(text.starts_with(&begin), "{text}");
        let end = format!(
            "gpu_seconds_bucket{{{labels},le=\"137.438953471\"}} 2\n\
             gpu_seconds_bucket{{{labels},le=\"+Inf\"}} 3\n\
             gpu_seconds_sum{{{labels}}} 1.500000001\ngpu_seconds_count{{{labels}}} 3\n"
        );
        assert!(text.ends_with(&end), "{text}");
    }
}
