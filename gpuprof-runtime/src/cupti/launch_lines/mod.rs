//! From stacks to source lines, when a report is made.

mod cpp_names;
mod frame;
pub(crate) mod line_cache;
mod lookup;
pub(crate) mod stack_totals;
mod symbols;
pub(crate) mod to_profile;
