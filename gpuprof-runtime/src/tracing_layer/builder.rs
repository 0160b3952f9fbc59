//! The options of a layer.

use std::env;

use tracing_core::{LevelFilter, Subscriber};
use tracing_subscriber::filter::{Filtered, Targets};
use tracing_subscriber::layer::Filter;
use tracing_subscriber::registry::LookupSpan;

use gpuprof_report::variables;

use super::callsites::{Callsites, WantedTargets};
use super::layer::Layer;
use super::options::{CallRule, LayerOptions};
use super::span_filter::SpanFilter;
use crate::gpu::HasStream;
use crate::session::set_default_stream;

/// A layer with the filter of its own by which it takes only the spans that it measures.
pub type FilteredLayer<S> = Filtered<Layer, SpanFilter, S>;

/// Options for a [`Layer`].
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct LayerBuilder {
    targets: Option<Targets>,
    options: LayerOptions,
}

impl Layer {
    /// Options for a layer.
    pub fn builder() -> LayerBuilder {
        LayerBuilder::default()
    }
}

/// The layer with the default options:
///
/// ```no_run
/// # use gpuprof_runtime as gpuprof;
/// use tracing_subscriber::prelude::*;
///
/// # let fmt_layer = tracing_subscriber::layer::Identity::new();
/// tracing_subscriber::registry()
///     .with(gpuprof::tracing::layer())
///     .with(fmt_layer)
///     .init();
/// ```
#[must_use]
pub fn layer<S>() -> FilteredLayer<S>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    Layer::builder().build()
}

impl LayerBuilder {
    /// The stream on which spans are timed, unless a span or `with_stream` around them has another:
    /// the same as [`set_default_stream`].
    pub fn stream<H: HasStream>(self, stream: H) -> Self {
        set_default_stream(stream);
        self
    }

    /// The rule for spans whose target begins with `target`. The longest that fits applies.
    pub fn call_rule(mut self, target: impl Into<String>, rule: CallRule) -> Self {
        self.options.rules.push((target.into(), rule));
        self
    }

    /// The field of spans whose value is the label of their calls.
    pub fn label_field(mut self, field: impl Into<String>) -> Self {
        self.options.label_field = Some(field.into());
        self
    }

    /// The spans to measure, unless `GPUPROF_TRACING` names others. The default is those at INFO
    /// and above, and all of candle.
    pub fn targets(mut self, targets: Targets) -> Self {
        self.targets = Some(targets);
        self
    }

    /// The layer, for a subscriber with a registry. A program has one: another measures nothing,
    /// and the report says so.
    #[must_use]
    pub fn build<S>(self) -> FilteredLayer<S>
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        let stated = stated_targets().or(self.targets);
        let named = stated.iter().flat_map(Targets::iter);
        let named = named.filter(|(_, level)| *level != LevelFilter::OFF);
        let named = named.map(|(target, _)| target.to_owned()).collect();
        let filter = SpanFilter(stated.clone().unwrap_or_else(default_targets));
        let wanted = WantedTargets {
            any: Filter::<S>::max_level_hint(&filter) != Some(LevelFilter::OFF),
            named,
        };
        let layer = Layer {
            options: self.options,
            callsites: Callsites::claim(wanted),
        };
        tracing_subscriber::Layer::with_filter(layer, filter)
    }
}

fn default_targets() -> Targets {
    Targets::new()
        .with_default(LevelFilter::INFO)
        .with_target("candle", LevelFilter::TRACE)
}

/// Those of the environment. A wrong value is told when the settings are read.
fn stated_targets() -> Option<Targets> {
    let value = env::var(variables::TRACING).ok()?;
    let value = value.trim();
    (!value.is_empty()).then(|| value.parse().ok()).flatten()
}
