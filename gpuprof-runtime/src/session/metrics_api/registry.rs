//! The collector for a registry of the crate prometheus-client.

use std::collections::HashMap;
use std::fmt;

use prometheus_client::collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::exemplar::Exemplar;
use prometheus_client::registry::Unit;

use crate::os::own_work::OwnWork;
use crate::session::api::start_from_environment;
use crate::session::metrics::scrape;
use crate::session::waits::LOCK_LIMIT;
use gpuprof_report::metrics::{
    self, BOUNDS, DurationBuckets, Families, Family, MetricKind, SeriesLabel, SeriesValue, seconds,
};

/// Adds gpuprof's metrics to a registry of the crate prometheus-client 0.26.
///
/// ```
/// # use gpuprof_runtime as gpuprof;
/// use prometheus_client::registry::Registry;
///
/// let mut registry = Registry::default();
/// registry.register_collector(Box::new(gpuprof::metrics::Collector::default()));
/// ```
///
/// Metrics count from the start of the process, also across [`reset`](crate::reset) and sessions.
/// Under `GPUPROF=off` there are none, and neither if another thread holds a lock on the
/// measurements for 1 s, or while the process ends: the program's own metrics are encoded in any
/// case.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Collector {}

impl collector::Collector for Collector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let _own = OwnWork::begin();
        start_from_environment();
        let Some(families) = scrape(LOCK_LIMIT) else {
            return Ok(());
        };
        for family in &families.families {
            let unit = family.unit.map(unit);
            let kind = match family.kind {
                MetricKind::Counter => MetricType::Counter,
                MetricKind::Gauge => MetricType::Gauge,
                MetricKind::Histogram => MetricType::Histogram,
            };
            let metric =
                encoder.encode_descriptor(family.name, family.help, unit.as_ref(), kind)?;
            encode(metric, family, &families)?;
        }
        Ok(())
    }
}

fn unit(unit: metrics::BaseUnit) -> Unit {
    match unit {
        metrics::BaseUnit::Seconds => Unit::Seconds,
        metrics::BaseUnit::Bytes => Unit::Bytes,
    }
}

fn encode(mut metric: MetricEncoder<'_>, family: &Family, families: &Families) -> fmt::Result {
    for sample in &family.samples {
        let labels: Vec<SeriesLabel> = sample
            .labels
            .iter()
            .chain(&families.labels)
            .cloned()
            .collect();
        let mut encoder = metric.encode_family(&labels)?;
        match (&sample.value, family.kind) {
            (SeriesValue::Whole(value), MetricKind::Counter) => {
                encoder.encode_counter(value, NO_EXEMPLAR)?
            }
            (SeriesValue::Ns(ns), MetricKind::Counter) => {
                encoder.encode_counter(&seconds(*ns), NO_EXEMPLAR)?;
            }
            // The encoder takes no gauge of 64 bits without a sign.
            (SeriesValue::Whole(value), _) => encoder.encode_gauge(&(*value as f64))?,
            (SeriesValue::Ns(ns), _) => encoder.encode_gauge(&seconds(*ns))?,
            (SeriesValue::Durations(durations), _) => encode_histogram(&mut encoder, durations)?,
        }
    }
    Ok(())
}

const NO_EXEMPLAR: Option<&Exemplar<NoLabelSet, f64>> = None;
const NO_EXEMPLARS: Option<&HashMap<usize, Exemplar<NoLabelSet, f64>>> = None;

fn encode_histogram(encoder: &mut MetricEncoder<'_>, durations: &DurationBuckets) -> fmt::Result {
    let finite = BOUNDS.into_iter().map(seconds).zip(durations.buckets);
    let longer = durations
        .count
        .saturating_sub(durations.buckets.iter().sum());
    let buckets: Vec<(f64, u64)> = finite.chain([(f64::INFINITY, longer)]).collect();
    let (sum, count) = (seconds(durations.sum_ns), durations.count);
    encoder.encode_histogram(sum, count, &buckets, NO_EXEMPLARS)
}
