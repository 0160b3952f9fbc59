//! Spans whose times are known: spin kernels that are queued while another one still holds their
//! streams up, so that no idle gap of a slow host is in them. And the rows about such spans.
//!
//! The same on the simulated device, whose kernels last as long as they are told.

use std::time::Duration;

use std::sync::Arc;

use cudarc::driver::{CudaStream, DriverError};
use gpuprof::profile::{Function, GpuSpanStats};
use gpuprof::{Profile, Session};

use crate::check::Row;
use crate::device::{Gpu, while_doing};

/// How long the kernel runs that holds the streams up, at the first try; each further one doubles
/// it.
const HOLD: Duration = Duration::from_millis(50);
/// On a host that is so slow that even the longest hold is over too early, nothing can be said.
pub(super) const TRIES: u32 = 6;

/// A step of the device's timer, by which a spin kernel may be shorter than it was told; and the
/// events' own resolution.
const SHORTER_NS: u64 = 2_000;
/// What two records and a launch may add to a kernel's time on a stream that has work.
const LONGER_NS: u64 = 20_000;

/// The longest that a span around a spin kernel of `ns` may read: 2 % and 20 µs more.
pub(super) fn longest(ns: u64) -> u64 {
    ns + ns / 50 + LONGER_NS
}

/// Whether a span reads as a spin kernel of `spun` should, or as several that last so long
/// together.
pub(super) fn as_spun(read: u64, spun: u64) -> bool {
    (spun.saturating_sub(SHORTER_NS)..=longest(spun)).contains(&read)
}

/// Measures what `queue` puts onto `streams` while all of these are held up; it is told for how
/// many ns. Streams of one context begin together. `queue` is called again, in a new session, where
/// the host was too slow.
///
/// # Errors
/// The driver's, as a text; or the host is too slow.
pub(super) fn measured(
    streams: &[(&Gpu, &Arc<CudaStream>)],
    mut queue: impl FnMut(u64) -> Result<(), DriverError>,
) -> Result<Profile, String> {
    for doubled in 0..TRIES {
        let hold = HOLD.as_nanos() as u64 * (1 << doubled);
        let session = Session::builder()
            .start()
            .map_err(while_doing("a session"))?;
        let early = held(streams, hold, &mut queue).map_err(while_doing("work behind a kernel"))?;
        let profile = session.finish();
        if early {
            return Ok(profile);
        }
    }
    Err("this machine is too slow to queue work behind a kernel of a second".into())
}

/// Whether everything was queued while the streams were held up. The work is over when it returns.
fn held(
    streams: &[(&Gpu, &Arc<CudaStream>)],
    hold: u64,
    queue: &mut impl FnMut(u64) -> Result<(), DriverError>,
) -> Result<bool, DriverError> {
    let mut holds = Vec::new();
    for &(gpu, stream) in streams {
        gpu.spin(stream, hold)?;
        holds.push(stream.record_event(None)?);
    }
    for &(gpu, stream) in streams {
        for held in &holds {
            if held.context().cu_ctx() == gpu.context.cu_ctx() {
                stream.wait(held)?;
            }
        }
    }
    queue(hold)?;
    let mut early = true;
    for held in &holds {
        early &= !held.try_is_complete()?;
    }
    for (gpu, _) in streams {
        gpu.context.synchronize()?;
    }
    Ok(early)
}

/// What is wanted of one function: how often it ran, and the kernels of its shortest and its
/// longest call, in ns.
pub(super) struct Wanted {
    pub(super) name: &'static str,
    pub(super) runs: u64,
    pub(super) shortest: u64,
    pub(super) longest: u64,
}

/// That every run of every function was timed, each time as long as its kernel, and no call of
/// gpuprof's failed.
pub(super) fn row(what: impl Into<String>, profile: &Profile, wanted: &[Wanted]) -> Row {
    let mut measured = Vec::new();
    let mut told = Vec::new();
    let mut good = profile.diagnostics.errors.is_empty();
    for one in wanted {
        let (runs, gpu) = match function(profile, one.name) {
            Some(function) => (function.runs(), function.gpu.as_ref()),
            None => (0, None),
        };
        measured.push(format!("{}: {runs} = {}", one.name, times(gpu)));
        told.push(format!(
            "{}: {} timed, {} to {}",
            one.name,
            one.runs,
            us(one.shortest),
            us(one.longest)
        ));
        good &= runs == one.runs
            && gpu.is_some_and(|gpu| {
                gpu.timed_calls == runs
                    && as_spun(gpu.times.min_ns, one.shortest)
                    && as_spun(gpu.times.max_ns, one.longest)
            });
    }
    measured.push(errors(profile));
    told.push("within 2 % + 20 µs, no error".into());
    Row::held(what, measured.join("; "), told.join("; "), good)
}

/// How many runs were timed, and in what times.
pub(super) fn times(gpu: Option<&GpuSpanStats>) -> String {
    match gpu {
        None => "0 timed".into(),
        Some(gpu) => format!(
            "{} timed, {} to {}",
            gpu.timed_calls,
            us(gpu.times.min_ns),
            us(gpu.times.max_ns)
        ),
    }
}

/// The errors that gpuprof's own calls met.
pub(super) fn errors(profile: &Profile) -> String {
    let errors = profile.diagnostics.errors.iter();
    let errors: Vec<_> = errors
        .map(|error| format!("{} {} ×{}", error.call, error.name, error.count))
        .collect();
    if errors.is_empty() {
        "no error".into()
    } else {
        errors.join(", ")
    }
}

/// The function of that shown name.
pub(super) fn function<'a>(profile: &'a Profile, name: &str) -> Option<&'a Function> {
    let mut functions = profile.functions.iter();
    functions.find(|function| function.name == name)
}

fn us(ns: u64) -> String {
    format!("{:.1} µs", ns as f64 / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_may_be_a_little_longer_than_its_kernel() {
        for read in [998_000, 1_000_000, 1_040_000] {
            assert!(as_spun(read, 1_000_000), "{read}");
        }
        for read in [0, 997_999, 1_040_001, 2_000_000] {
            assert!(!as_spun(read, 1_000_000), "{read}");
        }
    }
}
