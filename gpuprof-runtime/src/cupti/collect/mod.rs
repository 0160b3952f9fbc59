//! From CUPTI to records: finds and starts libcupti, receives CUDA calls by callbacks and
//! activities by buffers, and decodes them on a thread of its own.

mod api_callbacks;
mod bindings;
mod buffers;
pub(crate) mod callback_ids;
mod kernel_names;
mod library;
pub(crate) mod lifecycle;
mod locate;
mod parse;
pub(crate) mod queue;
pub(crate) mod reader;
pub(crate) mod record;
pub(crate) mod subscriber;
mod unavailable;
