//! A layer for `tracing` that records an event pair around each span of some names: what gpuprof's
//! GPU spans are compared with.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use candle_core::cuda_backend::cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT;
use candle_core::cuda_backend::cudarc::driver::{CudaEvent, CudaStream};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

/// By the names of spans.
pub(crate) type Pairs = Arc<Mutex<BTreeMap<&'static str, Vec<[CudaEvent; 2]>>>>;

pub(crate) struct Layer {
    stream: Arc<CudaStream>,
    names: &'static [&'static str],
    pairs: Pairs,
    /// Start events of the spans that are entered, on the one thread that this program has.
    open: Mutex<Vec<CudaEvent>>,
}

impl Layer {
    pub(crate) fn new(
        stream: &Arc<CudaStream>,
        names: &'static [&'static str],
        pairs: &Pairs,
    ) -> Self {
        Self {
            stream: Arc::clone(stream),
            names,
            pairs: Arc::clone(pairs),
            open: Mutex::default(),
        }
    }

    fn event(&self) -> CudaEvent {
        let event = self.stream.record_event(Some(CU_EVENT_DEFAULT));
        event.expect("a device that works")
    }

    fn name<S>(&self, id: &tracing::Id, context: &Context<'_, S>) -> Option<&'static str>
    where
        S: tracing::Subscriber + for<'span> LookupSpan<'span>,
    {
        let name = context.metadata(id)?.name();
        self.names.contains(&name).then_some(name)
    }
}

impl<S> tracing_subscriber::Layer<S> for Layer
where
    S: tracing::Subscriber + for<'span> LookupSpan<'span>,
{
    fn on_enter(&self, id: &tracing::Id, context: Context<'_, S>) {
        if self.name(id, &context).is_some() {
            self.open.lock().expect("no panic").push(self.event());
        }
    }

    fn on_exit(&self, id: &tracing::Id, context: Context<'_, S>) {
        if let Some(name) = self.name(id, &context) {
            let start = self.open.lock().expect("no panic").pop();
            let start = start.expect("it was entered");
            let mut pairs = self.pairs.lock().expect("no panic");
            pairs.entry(name).or_default().push([start, self.event()]);
        }
    }
}
