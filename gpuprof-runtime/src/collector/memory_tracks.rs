//! The live memory over time, as counters of the time line.

use std::collections::BTreeMap;

use gpuprof_report::profile::MemoryKind;
use gpuprof_report::sorting::sort_by_key;
use gpuprof_report::trace::CounterTrack;

/// Device, and number of the kind of memory.
type TrackKey = (Option<u32>, u32);
/// Time, and live bytes.
type MemorySample = (u64, u64);

/// The samples of each track.
#[derive(Debug, Default)]
pub(super) struct MemoryTracks(BTreeMap<TrackKey, Vec<MemorySample>>);

impl MemoryTracks {
    pub(super) fn add(&mut self, kind: u32, device: Option<u32>, sample: MemorySample) {
        self.0.entry((device, kind)).or_default().push(sample);
    }

    /// One counter for each kind and device, in the order of time.
    pub(super) fn into_tracks(self) -> Vec<CounterTrack> {
        let tracks = self.0.into_iter().map(|((device, kind), mut samples)| {
            // Of several changes at one time the last one counts: the sort is stable.
            sort_by_key(&mut samples, |(time, _)| *time);
            let kind = MemoryKind::ALL
                .get(kind as usize)
                .copied()
                .unwrap_or_default();
            let mut track = CounterTrack::default();
            track.name = format!("live {kind} memory (bytes)");
            track.device = device;
            track.samples = (samples.into_iter())
                .map(|(time, bytes)| (time, bytes as f64))
                .collect();
            track
        });
        tracks.collect()
    }
}
