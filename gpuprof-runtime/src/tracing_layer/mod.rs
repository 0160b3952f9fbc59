//! Spans of `tracing` as spans of gpuprof.
//!
//! A callsite of `tracing` is a function of the report, made when its first span is. Its spans nest
//! as they are entered, among those of annotated functions.

mod builder;
mod callsites;
mod entered_spans;
mod fields;
mod latest_spans;
mod layer;
mod options;
mod span_data;
mod span_filter;

pub use self::builder::{FilteredLayer, LayerBuilder, layer};
pub use self::layer::Layer;
pub use self::options::CallRule;
pub use self::span_filter::SpanFilter;
