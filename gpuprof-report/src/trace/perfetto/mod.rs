//! A trace in Perfetto's own format (`.pftrace`): smaller than JSON, exact to the nanosecond, and
//! with the rows of a device together under its process.
//!
//! The format is protobuf, which the crate prost writes. A test holds the messages against
//! `trace.proto`.

mod events;
mod interned;
// Generated from trace.proto.
#[allow(missing_docs, clippy::all, unreachable_pub)]
#[rustfmt::skip]
pub(super) mod messages;
pub(super) mod packets;
#[cfg(test)]
mod tests;
mod tracks;

use std::io::{self, BufWriter, Write};

use self::events::PerfettoEvents;
use super::rows::place_slices;
use super::{Trace, device_counters};

/// Writes the trace in Perfetto's format. Times are absolute, in ns since the Unix epoch, so that
/// traces of several processes are on one time line.
///
/// Memory beside the trace: some 50 bytes for each event.
///
/// # Errors
/// Those of `out`.
pub fn write_perfetto(trace: &Trace, out: &mut dyn Write) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    let mut events = PerfettoEvents::new(trace, &mut out);
    events.process()?;
    place_slices(trace, &mut events)?;
    device_counters::sample(trace, &mut |sample| events.device_counter(sample))?;
    events.counters()?;
    out.flush()
}
