//! Spans of known duration: spin kernels that are queued while another kernel blocks their streams,
//! so that a slow host leaves no gaps in them. Also the rows about such spans.
//!
//! The simulated device runs each kernel for exactly the requested time.

use std::time::Duration;

use std::sync::Arc;

use cudarc::driver::{CudaStream, DriverError};
use gpuprof::Profile;
use gpuprof::profile::{Function, GpuSpanStats};

use crate::check::Row;
use crate::device::{Gpu, failed_in};
use crate::session::every_call;

/// Duration of the blocking kernel at the first try; each further try doubles it.
const FIRST_BLOCK: Duration = Duration::from_millis(50);
/// The number of tries. On a host too slow for the longest of them nothing can be measured.
pub(super) const TRIES: u32 = 6;

/// How much shorter than requested a spin kernel may be: a step of the device's timer, and the
/// resolution of events.
pub(super) const SHORTER_NS: u64 = 2_000;
/// What two records and a launch may add to a kernel's time on a busy stream.
const LONGER_NS: u64 = 20_000;

/// The longest accepted span around a spin kernel of `ns`: 2 % and 20 µs more.
pub(super) fn longest(ns: u64) -> u64 {
    ns + ns / 50 + LONGER_NS
}

/// Whether a span matches a spin kernel of `spun` ns, or several of that total duration.
pub(super) fn as_spun(read: u64, spun: u64) -> bool {
    (spun.saturating_sub(SHORTER_NS)..=longest(spun)).contains(&read)
}

/// Measures the work that `queue` puts onto `streams` while all of them are blocked for the time it
/// is given in ns. Streams of one context begin together. `queue` is called again in a new session
/// if the host was too slow.
///
/// # Errors
/// A driver error as text, or the host is too slow.
pub(super) fn measured(
    streams: &[(&Gpu, &Arc<CudaStream>)],
    mut queue: impl FnMut(u64) -> Result<(), DriverError>,
) -> Result<Profile, String> {
    for doubled in 0..TRIES {
        let hold = FIRST_BLOCK.as_nanos() as u64 * (1 << doubled);
        let session = every_call().start().map_err(failed_in("a session"))?;
        let early = queue_behind_kernel(streams, hold, &mut queue)
            .map_err(failed_in("work behind a kernel"))?;
        let profile = session.finish();
        if early {
            return Ok(profile);
        }
    }
    Err("this machine is too slow to queue work behind a kernel of a second".into())
}

/// Whether everything was queued while the streams were blocked. The work has finished on return.
fn queue_behind_kernel(
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
        for blocker in &holds {
            if blocker.context().cu_ctx() == gpu.context.cu_ctx() {
                stream.wait(blocker)?;
            }
        }
    }
    queue(hold)?;
    let mut early = true;
    for blocker in &holds {
        early &= !blocker.try_is_complete()?;
    }
    for (gpu, _) in streams {
        gpu.context.synchronize()?;
    }
    Ok(early)
}

/// The expected result of one function: the number of runs, and the kernel durations of its
/// shortest and longest call, in ns.
pub(super) struct Wanted {
    pub(super) name: &'static str,
    pub(super) runs: u64,
    pub(super) shortest: u64,
    pub(super) longest: u64,
}

/// Checks that every run of every function was timed with its kernel's duration and that no call of
/// gpuprof failed.
pub(super) fn row(what: impl Into<String>, profile: &Profile, wanted: &[Wanted]) -> Row {
    let mut measured = Vec::new();
    let mut expected = Vec::new();
    let mut good = profile.diagnostics.errors.is_empty();
    for expectation in wanted {
        let (runs, gpu) = match function(profile, expectation.name) {
            Some(function) => (function.calls, function.gpu.as_ref()),
            None => (0, None),
        };
        measured.push(format!("{}: {runs} = {}", expectation.name, times(gpu)));
        expected.push(format!(
            "{}: {} timed, {} to {}",
            expectation.name,
            expectation.runs,
            us(expectation.shortest),
            us(expectation.longest)
        ));
        good &= runs == expectation.runs
            && gpu.is_some_and(|gpu| {
                gpu.timed_calls == runs
                    && as_spun(gpu.times.min_ns, expectation.shortest)
                    && as_spun(gpu.times.max_ns, expectation.longest)
            });
    }
    measured.push(errors(profile));
    expected.push("within 2 % + 20 µs, no error".into());
    Row::judged(what, measured.join("; "), expected.join("; "), good)
}

/// The number of timed runs and the range of their times.
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

/// The errors of gpuprof's own driver calls.
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

/// The function with this display name. Of several, that with the most calls: the program has every
/// check's functions, and those of other checks were not called.
pub(super) fn function<'a>(profile: &'a Profile, name: &str) -> Option<&'a Function> {
    let functions = profile.functions.iter();
    let of_that_name = functions.filter(|function| function.name == name);
    of_that_name.max_by_key(|function| function.calls)
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
