//! `GPUPROF_METRICS=listen=ADDRESS`.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsRawFd;
use std::path::Path;

use super::descriptors;
use super::server::Server;
use crate::collector::collector;
use crate::os::thread_signals;
use crate::session::write_outputs;
use crate::settings::metrics_address;
use gpuprof_report::diagnostic::Severity;

/// Serves metrics on `address`, whose placeholders are filled in. A failure is one line for the
/// user, and so is an address that other machines may reach.
pub(super) fn start(address: &str) {
    let filled = write_outputs::fill_placeholders(Path::new(address));
    let shown = write_outputs::shown(&filled);
    let Some(address) = filled.to_str().and_then(metrics_address) else {
        return warn(&format!(
            "metrics are not served: {shown} is not an address:port"
        ));
    };
    match serve(address) {
        Err(error) => warn(&format!("metrics are not served on {address}: {error}")),
        Ok(bound) if !bound.ip().is_loopback() => warn(&format!(
            "metrics are served on {bound}: other machines may read the names and times of \
             functions there"
        )),
        Ok(bound) if bound != address => {
            let line = format!("metrics are served on http://{bound}/metrics");
            collector().diagnostics.say(Severity::Note, &line);
        }
        Ok(_) => {}
    }
}

fn serve(address: SocketAddr) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(address)?;
    let bound = listener.local_addr()?;
    let descriptor = listener.as_raw_fd();
    let server = Server::new(listener)?;
    descriptors::note_listener(descriptor);
    thread_signals::spawn("gpuprof-metrics", move || server.run())?;
    Ok(bound)
}

fn warn(line: &str) {
    collector().diagnostics.warning(line);
}
