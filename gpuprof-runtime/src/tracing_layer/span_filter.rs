//! Which spans come to the layer. Only a filter of the layer's own leaves the spans and events of
//! others alone.

use tracing_core::subscriber::Interest;
use tracing_core::{LevelFilter, Metadata};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Context, Filter};

/// The spans of these targets, and no event.
#[derive(Clone, Debug)]
pub struct SpanFilter(pub(super) Targets);

impl<S> Filter<S> for SpanFilter {
    fn enabled(&self, metadata: &Metadata<'_>, context: &Context<'_, S>) -> bool {
        metadata.is_span() && Filter::<S>::enabled(&self.0, metadata, context)
    }

    fn callsite_enabled(&self, metadata: &'static Metadata<'static>) -> Interest {
        if metadata.is_span() {
            Filter::<S>::callsite_enabled(&self.0, metadata)
        } else {
            Interest::never()
        }
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Filter::<S>::max_level_hint(&self.0)
    }
}
