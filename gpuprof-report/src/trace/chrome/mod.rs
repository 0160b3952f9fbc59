//! A trace as JSON in the Trace Event Format of Chrome, with the categories and fields that
//! PyTorch's Kineto writes, by which Perfetto, HolisticTraceAnalysis and others read it.
//!
//! GPU spans carry no `stream` in their arguments, as in Kineto: tools take what has one for a
//! kernel. What belongs to no category of Kineto (missing events) is written as pairs of
//! asynchronous events, which those tools skip.

mod document;
mod events;
mod row_numbers;
#[cfg(test)]
mod tests;
mod text;

use std::io::{self, BufWriter, Write};

use self::events::ChromeEvents;
use self::text::Text;
use super::rows::place_slices;
use super::{Trace, device_counters};

/// Writes the trace as Chrome JSON. Times are in µs since `baseTimeNanoseconds`, with three
/// decimals; names are written in full, escaped.
///
/// Memory beside the trace: some 50 bytes for each event.
///
/// # Errors
/// Those of `out`.
pub fn write_json(trace: &Trace, out: &mut dyn Write) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    document::write_head(trace, &mut out)?;
    let mut events = ChromeEvents::new(trace, &mut out);
    events.processes()?;
    place_slices(trace, &mut events)?;
    device_counters::sample(trace, &mut |sample| events.device_counter(sample))?;
    events.counters()?;
    document::write_tail(&mut out)?;
    out.flush()
}
