//! Metrics as a program asks for them: the text format, and a collector for its registry.

mod exposition;
mod registry;

pub use self::exposition::prometheus_text;
pub use self::registry::Collector;
