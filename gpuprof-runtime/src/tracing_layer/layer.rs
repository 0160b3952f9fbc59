//! The layer: what `tracing` tells of spans.

use std::sync::Arc;

use tracing_core::span::{Attributes, Id, Record};
use tracing_core::{Metadata, Subscriber, subscriber::Interest};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::callsites::Callsites;
use super::entered_spans;
use super::latest_spans;
use super::options::LayerOptions;
use super::span_data::SpanData;
use crate::os::fork;

/// A layer for a subscriber of `tracing`, which measures spans as calls of functions.
///
/// [`layer`](super::layer) makes one with the default options, and [`Layer::builder`] one with
/// others. It never filters for other layers: a program's log is the same with it as without.
#[derive(Debug)]
pub struct Layer {
    pub(super) options: LayerOptions,
    /// `None`: another one was built before, which measures.
    pub(super) callsites: Option<&'static Callsites>,
}

impl<S> tracing_subscriber::Layer<S> for Layer
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::always()
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let (Some(callsites), Some(span)) = (self.callsites(), context.span(id)) else {
            return;
        };
        let callsite = callsites.find_or_add(attributes.metadata(), &self.options);
        let data = Arc::new(SpanData::new(callsite, attributes, &self.options));
        span.extensions_mut().insert(Arc::clone(&data));
        latest_spans::insert(id.into_u64(), data);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(data) = self.data(id, &context) {
            data.record(values, &self.options);
        }
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        if let Some(data) = self.data(id, &context) {
            entered_spans::enter(id.into_u64(), data);
        }
    }

    fn on_exit(&self, id: &Id, _: Context<'_, S>) {
        if self.callsites().is_some() {
            entered_spans::exit(id.into_u64());
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        if let Some(data) = self.data(&id, &context) {
            latest_spans::remove(id.into_u64());
            data.close();
        }
    }
}

/// Another layer may be built.
impl Drop for Layer {
    fn drop(&mut self) {
        if let Some(callsites) = self.callsites {
            callsites.release();
        }
    }
}

impl Layer {
    /// `None`: this layer does not measure, or this is a forked child, where a thread that does not
    /// exist there may hold a lock.
    fn callsites(&self) -> Option<&'static Callsites> {
        self.callsites.filter(|_| !fork::is_child())
    }

    /// What is known of a span. `None`: it was made before the layer, or this one does not measure.
    fn data<S>(&self, id: &Id, context: &Context<'_, S>) -> Option<Arc<SpanData>>
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        self.callsites()?;
        latest_spans::find(id.into_u64()).or_else(|| {
            let span = context.span(id)?;
            let data = span.extensions().get::<Arc<SpanData>>().cloned()?;
            latest_spans::insert(id.into_u64(), Arc::clone(&data));
            Some(data)
        })
    }
}
