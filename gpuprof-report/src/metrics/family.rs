//! Metrics as plain data.

use super::buckets::DurationBuckets;

/// The metrics of one process at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Families {
    /// Labels of every sample: host, and rank if the process has one.
    pub labels: Vec<SeriesLabel>,
    /// In the order in which they are written; none is empty.
    pub families: Vec<Family>,
}

/// A label's name and value.
pub type SeriesLabel = (&'static str, String);

/// The samples of one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    /// Name without its unit and without `_total`.
    pub name: &'static str,
    /// Unit, which is part of the full name.
    pub unit: Option<BaseUnit>,
    /// What it measures, one line.
    pub help: &'static str,
    /// Of all its samples.
    pub kind: MetricKind,
    /// No two have the same labels.
    pub samples: Vec<SeriesSample>,
}

impl Family {
    /// The name with its unit, and with `_total` if it is a counter.
    #[must_use]
    pub fn full_name(&self) -> String {
        let mut name = self.name.to_owned();
        if let Some(unit) = self.unit {
            name.push('_');
            name.push_str(unit.as_str());
        }
        if self.kind == MetricKind::Counter {
            name.push_str("_total");
        }
        name
    }
}

/// A base unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BaseUnit {
    /// `seconds`.
    Seconds,
    /// `bytes`.
    Bytes,
}

impl BaseUnit {
    /// As it stands in names.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Seconds => "seconds",
            Self::Bytes => "bytes",
        }
    }
}

/// The type of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// Never goes down while the process runs.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Classic buckets, their sum and their count.
    Histogram,
}

/// One series.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesSample {
    /// Its own labels.
    pub labels: Vec<SeriesLabel>,
    /// Its value.
    pub value: SeriesValue,
}

/// The value of a series.
#[derive(Clone, Debug, PartialEq)]
pub enum SeriesValue {
    /// A count, or bytes.
    Whole(u64),
    /// A duration, ns; written in seconds.
    Ns(u64),
    /// Durations; written in seconds.
    Durations(Box<DurationBuckets>),
}

/// A duration in seconds: the nearest number, so that ns are exact below 2⁵³ (104 days).
#[must_use]
pub fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
