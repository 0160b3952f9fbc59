//! Starts what `GPUPROF_METRICS` asks for.

use super::{files, listener, scrape};
use crate::settings::{Mode, Settings};

/// Starts what the settings ask for.
pub(in crate::session) fn start(settings: &Settings) {
    if settings.mode != Mode::On {
        return;
    }
    if settings.metrics.files.is_empty() && settings.metrics.listen.is_none() {
        return;
    }
    scrape::prepare();
    files::set(&settings.metrics.files);
    if let Some(address) = &settings.metrics.listen {
        listener::start(address);
    }
}
