//! Packets one after another: the whole file is a list of them.

use std::io::{self, Write};

use prost::Message;

use super::interned::Interned;
use super::messages::{ClockSnapshot, TracePacket, TrackDescriptor, TrackEvent, clock_snapshot};

/// The key of the field `Trace.packet`.
pub(in super::super) const PACKET_KEY: u8 = 0x0a;

/// The one sequence of a file: the names in it are known from its first packet on.
const SEQUENCE: u32 = 1;
const STATE_CLEARED: u32 = 1;
const NEEDS_STATE: u32 = 2;

const REALTIME: u32 = 1;
const BOOTTIME: u32 = 6;

/// Writes packets.
pub(super) struct Packets<'a> {
    out: &'a mut dyn Write,
    bytes: Vec<u8>,
    base_unix_ns: u64,
}

impl<'a> Packets<'a> {
    pub(super) fn new(base_unix_ns: u64, out: &'a mut dyn Write) -> Self {
        Self {
            out,
            bytes: Vec::new(),
            base_unix_ns,
        }
    }

    /// The first packet: the clock of the trace shows the time since the Unix epoch.
    pub(super) fn clocks(&mut self) -> io::Result<()> {
        let clock = |clock_id| clock_snapshot::Clock {
            clock_id: Some(clock_id),
            timestamp: Some(self.unix_ns(0)),
        };
        self.write(TracePacket {
            clock_snapshot: Some(ClockSnapshot {
                clocks: [BOOTTIME, REALTIME].map(clock).into(),
            }),
            sequence_flags: Some(STATE_CLEARED),
            ..TracePacket::default()
        })
    }

    pub(super) fn track(&mut self, track: TrackDescriptor) -> io::Result<()> {
        self.write(TracePacket {
            track_descriptor: Some(track),
            ..TracePacket::default()
        })
    }

    /// An event with the names that no earlier one has.
    pub(super) fn event(
        &mut self,
        time_ns: u64,
        event: TrackEvent,
        interned: &mut Interned,
    ) -> io::Result<()> {
        self.write(TracePacket {
            timestamp: Some(self.unix_ns(time_ns)),
            track_event: Some(event),
            interned_data: interned.take_new(),
            sequence_flags: Some(NEEDS_STATE),
            ..TracePacket::default()
        })
    }

    /// Perfetto's times are signed.
    fn unix_ns(&self, time_ns: u64) -> u64 {
        let unix_ns = self.base_unix_ns.saturating_add(time_ns);
        unix_ns.min(i64::MAX.unsigned_abs())
    }

    fn write(&mut self, mut packet: TracePacket) -> io::Result<()> {
        packet.trusted_packet_sequence_id = Some(SEQUENCE);
        write_packet(&packet, &mut self.bytes, self.out)
    }
}

/// Writes one packet by a buffer that is used again.
pub(in super::super) fn write_packet(
    packet: &TracePacket,
    bytes: &mut Vec<u8>,
    out: &mut dyn Write,
) -> io::Result<()> {
    bytes.clear();
    bytes.push(PACKET_KEY);
    packet
        .encode_length_delimited(bytes)
        .map_err(io::Error::other)?;
    out.write_all(bytes)
}
