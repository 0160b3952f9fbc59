//! What stands around the events: where and when the trace was recorded, and on which devices.

use std::io::{self, Write};

use super::super::{Trace, labels};
use super::Text;
use crate::profile::Device;

/// Threads of a warp on every NVIDIA GPU so far.
const WARP_SIZE: u32 = 32;

/// Writes the fields before the events. Each stands on a line of its own, by which readers find
/// the rank without reading the events.
pub(super) fn write_head(trace: &Trace, out: &mut dyn Write) -> io::Result<()> {
    let mut text = Text::default();
    writeln!(out, "{{")?;
    writeln!(out, "\"schemaVersion\": 1,")?;
    if let Some(rank) = trace.rank {
        text.begin()
            .literal("rank", rank)
            .optional("world_size", trace.ranks)
            .close();
        writeln!(out, "\"distributedInfo\": {},", text.as_str())?;
    }
    write!(out, "\"deviceProperties\": [")?;
    for (index, device) in trace.devices.iter().enumerate() {
        let separator = if index == 0 { "" } else { "," };
        write_device(device, &mut text);
        write!(out, "{separator}\n{}", text.as_str())?;
    }
    writeln!(out, "],")?;
    text.begin()
        .string("program", &trace.program)
        .literal("pid", trace.pid)
        .string("host", &trace.host)
        .literal("end_ns", trace.end_ns)
        .optional("clock_error_ns", trace.clock_error_ns)
        .close();
    writeln!(out, "\"gpuprof\": {},", text.as_str())?;
    writeln!(out, "\"displayTimeUnit\": \"ns\",")?;
    writeln!(out, "\"baseTimeNanoseconds\": {},", trace.base_unix_ns)?;
    // Ends here, so that every event can begin with a line of its own.
    text.begin()
        .string("ph", "M")
        .string("name", "process_name")
        .literal("pid", trace.pid)
        .object("args")
        .string("name", &labels::process(trace))
        .close()
        .close();
    write!(out, "\"traceEvents\": [\n{}", text.as_str())
}

pub(super) fn write_tail(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n]}}")
}

/// The properties of a device that Kineto writes, as far as they are known.
fn write_device(device: &Device, text: &mut Text) {
    let mut capability = device.compute_capability.split('.');
    let mut version = || capability.next()?.parse::<u32>().ok();
    let (major, minor) = (version(), version());
    text.begin()
        .literal("id", device.ordinal)
        .string("name", &device.shown_name())
        .string("uuid", &device.uuid)
        .optional("totalGlobalMem", device.memory_bytes)
        .optional("computeMajor", major)
        .optional("computeMinor", minor)
        .literal("warpSize", WARP_SIZE)
        .optional("maxThreadsPerMultiprocessor", device.threads_per_sm)
        .optional("regsPerMultiprocessor", device.registers_per_sm)
        .optional("sharedMemPerMultiprocessor", device.shared_bytes_per_sm)
        .optional("numSms", device.sm_count)
        .close();
}
