//! The text format, for programs without a registry.

use crate::os::own_work::OwnWork;
use crate::session::api::start_from_environment;
use crate::session::metrics::page;
use crate::session::waits::LOCK_LIMIT;

/// The metrics of the process in Prometheus's text format 0.0.4: for programs that serve metrics
/// without a registry of the crate prometheus-client. Empty if nothing was measured yet, if another
/// thread holds a lock on the measurements for 1 s, and while the process ends.
///
/// ```
/// # use gpuprof_runtime as gpuprof;
/// # fn train() {}
/// train();
/// let text = gpuprof::metrics::prometheus_text();
/// ```
#[must_use]
pub fn prometheus_text() -> String {
    let _own = OwnWork::begin();
    start_from_environment();
    let text = page(LOCK_LIMIT).unwrap_or_default();
    String::from_utf8(text).unwrap_or_default()
}
