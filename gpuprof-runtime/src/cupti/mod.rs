//! The kernel tier: what CUPTI records of kernels, copies and CUDA calls, attributed to the profiled functions.
//!
//! Two halves. From CUPTI to records: `library`, `sys`, `buffers`, `record`, `reader`. From records to a profile: `calls` (which
//! call a thread is in), `join`, `busy`, `tables`, `occupancy`. Must not import span or report.

mod record;
