//! Merging of `.pftrace`: packet by packet, with numbers made distinct. Times are absolute in each.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

use prost::Message;

pub(super) use super::super::perfetto::messages::TracePacket;
use super::super::perfetto::messages::{TrackDescriptor, TrackEvent};
use super::super::perfetto::packets::{PACKET_KEY, write_packet};
use super::MergeError;
use super::numbers::{ProcessNumbers, distinct};

/// gpuprof's largest packets hold a function's arguments, or one new name.
const MAX_PACKET_BYTES: u64 = 16 << 20;

/// Merges traces that [`write_perfetto`](super::super::write_perfetto) wrote into one on one time
/// line. In the order given, each keeps its process numbers unless an earlier one has them; tracks
/// and arrows become distinct.
///
/// # Errors
/// [`MergeError`], of which those that name a file leave an incomplete output behind.
pub fn merge_perfetto(inputs: &[impl AsRef<Path>], out: &mut dyn Write) -> Result<(), MergeError> {
    if inputs.is_empty() {
        return Err(MergeError::NoInput);
    }
    let mut out = BufWriter::new(out);
    let mut processes = ProcessNumbers::default();
    let mut bytes = Vec::new();
    for (position, path) in (0..).zip(inputs) {
        let path = path.as_ref();
        let mut packets = Packets::open(path)?;
        while let Some(mut packet) = packets.next()? {
            tell_apart(&mut packet, position, &mut processes).ok_or_else(|| {
                let reason = "it is a merged trace already, or too large: merge the original ones";
                MergeError::not_a_trace(path, reason)
            })?;
            write_packet(&packet, &mut bytes, &mut out).map_err(MergeError::Write)?;
        }
    }
    out.flush().map_err(MergeError::Write)
}

/// Reads the packets of a file.
struct Packets<'a> {
    path: &'a Path,
    file: BufReader<File>,
    bytes: Vec<u8>,
    is_first: bool,
}

impl<'a> Packets<'a> {
    fn open(path: &'a Path) -> Result<Self, MergeError> {
        let file = File::open(path).map_err(|error| MergeError::Read(path.to_owned(), error))?;
        Ok(Self {
            path,
            file: BufReader::new(file),
            bytes: Vec::new(),
            is_first: true,
        })
    }

    /// The next packet; `None` at the end of a file that has one at least.
    fn next(&mut self) -> Result<Option<TracePacket>, MergeError> {
        let not_a_trace = |reason: &str| MergeError::not_a_trace(self.path, reason);
        let is_first = std::mem::replace(&mut self.is_first, false);
        match byte(&mut self.file).map_err(|error| self.read_failed(error))? {
            Some(PACKET_KEY) => {}
            None if is_first => return Err(not_a_trace("it is empty")),
            None => return Ok(None),
            Some(_) if is_first => {
                let reason = "it is not in Perfetto's format; \
                              GPUPROF_REPORT=trace=PATH.pftrace writes one";
                return Err(not_a_trace(reason));
            }
            Some(_) => return Err(not_a_trace("a packet does not begin where it should")),
        }
        let len = self.length().map_err(|error| self.read_failed(error))?;
        if len > MAX_PACKET_BYTES {
            return Err(not_a_trace(&format!("a packet is {len} bytes long")));
        }
        self.bytes.clear();
        let read = self.file.by_ref().take(len).read_to_end(&mut self.bytes);
        let read = read.map_err(|error| self.read_failed(error))?;
        if u64::try_from(read) != Ok(len) {
            return Err(not_a_trace("it ends within a packet"));
        }
        let packet = TracePacket::decode(self.bytes.as_slice());
        let packet = packet.map_err(|error| not_a_trace(&error.to_string()))?;
        // Fields that gpuprof does not write are not decoded.
        if packet.encoded_len() != self.bytes.len() {
            return Err(MergeError::Foreign(self.path.to_owned()));
        }
        Ok(Some(packet))
    }

    /// A length in protobuf's variable form.
    fn length(&mut self) -> io::Result<u64> {
        let mut length = 0;
        for shift in (0..64).step_by(7) {
            let byte = byte(&mut self.file)?.ok_or(io::ErrorKind::UnexpectedEof)?;
            length |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(length);
            }
        }
        Err(io::ErrorKind::InvalidData.into())
    }

    fn read_failed(&self, error: io::Error) -> MergeError {
        match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData => {
                MergeError::not_a_trace(self.path, "it ends within a packet")
            }
            _ => MergeError::Read(self.path.to_owned(), error),
        }
    }
}

/// The next byte; `None` at the end.
fn byte(file: &mut impl Read) -> io::Result<Option<u8>> {
    let mut byte = [0];
    match file.read_exact(&mut byte) {
        Ok(()) => Ok(Some(u8::from_le_bytes(byte))),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

/// Gives a packet numbers that no packet of another trace has; `None` if one is too large for that.
fn tell_apart(
    packet: &mut TracePacket,
    position: u64,
    processes: &mut ProcessNumbers,
) -> Option<()> {
    let sequence = u32::try_from(position).ok()?.checked_add(1)?;
    packet.trusted_packet_sequence_id = Some(sequence);
    if let Some(track) = &mut packet.track_descriptor {
        tell_track_apart(track, position, processes)?;
    }
    if let Some(event) = &mut packet.track_event {
        tell_event_apart(event, position)?;
    }
    Some(())
}

fn tell_track_apart(
    track: &mut TrackDescriptor,
    position: u64,
    processes: &mut ProcessNumbers,
) -> Option<()> {
    for number in [&mut track.uuid, &mut track.parent_uuid]
        .into_iter()
        .flatten()
    {
        *number = distinct(*number, position)?;
    }
    let mut number = |pid: i32| processes.number(position, &pid.to_string()).parse().ok();
    if let Some(process) = &mut track.process {
        process.pid = process.pid.and_then(&mut number);
        process.legacy_sort_index = i32::try_from(position).ok();
    }
    if let Some(thread) = &mut track.thread {
        thread.pid = thread.pid.and_then(&mut number);
    }
    Some(())
}

fn tell_event_apart(event: &mut TrackEvent, position: u64) -> Option<()> {
    if let Some(number) = &mut event.track_uuid {
        *number = distinct(*number, position)?;
    }
    for number in &mut event.flow_ids {
        *number = distinct(*number, position)?;
    }
    Some(())
}

/// The packets of a file, for tests.
#[cfg(test)]
pub(super) fn read_all(path: &Path) -> Result<Vec<TracePacket>, MergeError> {
    let mut packets = Packets::open(path)?;
    std::iter::from_fn(|| packets.next().transpose()).collect()
}
