//! Spans of `tracing` under a layer that does nothing, gpuprof's and other profilers'.
//!
//! Each layer has its own worker, because a process has one subscriber.

use std::sync::{Once, OnceLock};

use tracing::Span;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::registry;

use crate::loop_under_test::{body, repeat};
use crate::other_profilers::{Loop, below_roots};

/// The rows.
pub(crate) const LOOPS: &[(&str, Loop)] = &[
    ("tracing", |calls| {
        install(|| registry().with(NoMeasurement));
        repeat(made_and_entered, calls);
    }),
    ("tracing-filtered", |calls| {
        install(|| registry().with(NoMeasurement.with_filter(all_spans())));
        repeat(made_and_entered, calls);
    }),
    #[cfg(feature = "enable")]
    ("tracing-gpuprof", |calls| {
        install(|| registry().with(gpuprof::tracing::layer()));
        repeat(made_and_entered, calls);
    }),
    ("tracing-stored", |calls| {
        install(|| registry().with(NoMeasurement));
        repeat(entered, calls);
    }),
    ("tracing-stored-filtered", |calls| {
        install(|| registry().with(NoMeasurement.with_filter(all_spans())));
        repeat(entered, calls);
    }),
    #[cfg(feature = "enable")]
    ("tracing-stored-gpuprof", |calls| {
        install(|| registry().with(gpuprof::tracing::layer()));
        repeat(entered, calls);
    }),
    ("tracing-chrome", |calls| {
        install(|| {
            let builder = tracing_chrome::ChromeLayerBuilder::new();
            let (layer, guard) = builder.writer(std::io::sink()).build();
            // It ends the thread that writes.
            std::mem::forget(guard);
            registry().with(layer)
        });
        repeat(made_and_entered, calls);
    }),
    ("tracing-fastrace", |calls| {
        install(|| registry().with(fastrace_tracing::FastraceCompatLayer::new()));
        below_roots(made_and_entered, calls);
    }),
];

/// Accepts every span and does nothing: the cost of tracing without a measurement.
struct NoMeasurement;

impl<S: tracing::Subscriber> Layer<S> for NoMeasurement {}

/// A filter of the layer's own, as gpuprof's layer must have one to leave the log as it is.
fn all_spans() -> Targets {
    Targets::new().with_default(LevelFilter::TRACE)
}

fn install<S>(subscriber: impl FnOnce() -> S)
where
    S: tracing::Subscriber + Send + Sync,
{
    static SET_UP: Once = Once::new();
    // Fails if a subscriber is set already, which nothing else here does.
    SET_UP.call_once(|| drop(tracing::subscriber::set_global_default(subscriber())));
}

/// As `#[instrument]` does.
#[inline(never)]
fn made_and_entered(argument: u64) -> u64 {
    let _entered = tracing::info_span!("bench").entered();
    body(argument)
}

/// As the layers of candle's models do.
#[inline(never)]
fn entered(argument: u64) -> u64 {
    static STORED: OnceLock<Span> = OnceLock::new();
    let stored = STORED.get_or_init(|| tracing::info_span!(target: "candle", "bench"));
    let _entered = stored.enter();
    body(argument)
}
