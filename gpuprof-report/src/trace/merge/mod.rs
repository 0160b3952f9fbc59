//! Traces of several processes as one time line: what they number alike is told apart.

mod error;
mod event_fields;
mod json;
mod numbers;
mod perfetto;
#[cfg(test)]
mod tests;

pub use self::error::MergeError;
pub use self::json::merge_json;
pub use self::perfetto::merge_perfetto;
