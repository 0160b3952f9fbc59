//! From CUPTI to records.

pub(crate) mod api_callbacks;
pub(crate) mod buffers;
pub(crate) mod callback_ids;
pub(crate) mod constants;
pub(crate) mod library;
pub(crate) mod locate;
pub(crate) mod names;
pub(crate) mod parse;
pub(crate) mod queue;
pub(crate) mod reader;
pub(crate) mod record;
pub(crate) mod subscriber;
pub(crate) mod unavailable;
