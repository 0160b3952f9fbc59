//! The tracks: a process with its threads, and within it each device with its counters and
//! streams.

use std::collections::HashMap;

use super::super::rows::{Track, item_at};
use super::super::{Trace, labels};
use super::messages::{CounterDescriptor, ProcessDescriptor, ThreadDescriptor, TrackDescriptor};

/// Children are ordered by their ranks.
const EXPLICIT: i32 = 3;
/// A track is never drawn as one with a sibling of the same name.
const NEVER_MERGED: i32 = 2;

/// A track's place in the tree.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    Process,
    Recording,
    Device(u32),
    Row(Track, usize),
    /// Device and name; `None` for the process.
    Counter(Option<u32>, String),
}

/// Numbers the tracks, and describes each when it is first asked for.
pub(super) struct Tracks<'a> {
    trace: &'a Trace,
    numbers: HashMap<Key, u64>,
    /// Not yet written.
    new: Vec<TrackDescriptor>,
}

impl<'a> Tracks<'a> {
    pub(super) fn new(trace: &'a Trace) -> Self {
        Self {
            trace,
            numbers: HashMap::new(),
            new: Vec::new(),
        }
    }

    /// The tracks since the last call, parents before children.
    pub(super) fn take_new(&mut self) -> Vec<TrackDescriptor> {
        std::mem::take(&mut self.new)
    }

    /// The track of the process.
    pub(super) fn process(&mut self) -> u64 {
        self.track(Key::Process)
    }

    /// The track that says what was recorded.
    pub(super) fn recording(&mut self) -> u64 {
        self.track(Key::Recording)
    }

    pub(super) fn row(&mut self, track: Track, row: usize) -> u64 {
        self.track(Key::Row(track, row))
    }

    pub(super) fn counter(&mut self, device: Option<u32>, name: &str) -> u64 {
        self.track(Key::Counter(device, name.to_owned()))
    }

    fn track(&mut self, key: Key) -> u64 {
        if let Some(&number) = self.numbers.get(&key) {
            return number;
        }
        let mut descriptor = self.describe(&key);
        let number = u64::try_from(self.numbers.len()).map_or(u64::MAX, |known| known + 1);
        self.numbers.insert(key, number);
        descriptor.uuid = Some(number);
        self.new.push(descriptor);
        number
    }

    fn describe(&mut self, key: &Key) -> TrackDescriptor {
        match key {
            Key::Process => self.describe_process(),
            Key::Recording => {
                let process = self.process();
                self.named("recording".to_owned(), process)
            }
            Key::Device(ordinal) => {
                let process = self.process();
                TrackDescriptor {
                    child_ordering: Some(EXPLICIT),
                    ..self.named(labels::device(self.trace, *ordinal), process)
                }
            }
            Key::Row(track, row) => self.describe_row(*track, *row),
            Key::Counter(device, name) => {
                let parent = match device {
                    Some(ordinal) => self.track(Key::Device(*ordinal)),
                    None => self.process(),
                };
                TrackDescriptor {
                    counter: Some(CounterDescriptor {}),
                    // Above the streams.
                    sibling_order_rank: Some(-1),
                    ..self.named(name.clone(), parent)
                }
            }
        }
    }

    fn describe_process(&self) -> TrackDescriptor {
        TrackDescriptor {
            process: Some(ProcessDescriptor {
                pid: Some(self.pid()),
                process_name: Some(labels::process(self.trace)),
                process_labels: labels::clock_error(self.trace).into_iter().collect(),
            }),
            ..TrackDescriptor::default()
        }
    }

    fn describe_row(&mut self, track: Track, row: usize) -> TrackDescriptor {
        if let (Track::Thread(index), 0) = (track, row) {
            return self.describe_thread(index);
        }
        let parent = match track {
            Track::Thread(_) => self.row(track, 0),
            Track::Missing(_) => self.process(),
            Track::Activities(index) | Track::Spans(index) => {
                match index.and_then(|index| item_at(&self.trace.streams, index)) {
                    Some(stream) => self.track(Key::Device(stream.device)),
                    None => self.process(),
                }
            }
        };
        self.named(labels::row(self.trace, track, row), parent)
    }

    fn describe_thread(&mut self, index: Option<u32>) -> TrackDescriptor {
        let name = labels::thread_name(self.trace, index);
        match index.and_then(|index| item_at(&self.trace.threads, index)) {
            Some(thread) => TrackDescriptor {
                thread: Some(ThreadDescriptor {
                    pid: Some(self.pid()),
                    tid: i64::try_from(thread.tid).ok(),
                    thread_name: Some(name),
                }),
                ..TrackDescriptor::default()
            },
            None => {
                let process = self.process();
                self.named(name, process)
            }
        }
    }

    fn named(&self, name: String, parent: u64) -> TrackDescriptor {
        TrackDescriptor {
            parent_uuid: Some(parent),
            name: Some(name),
            sibling_order_rank: i32::try_from(self.numbers.len()).ok(),
            sibling_merge_behavior: Some(NEVER_MERGED),
            ..TrackDescriptor::default()
        }
    }

    fn pid(&self) -> i32 {
        i32::try_from(self.trace.pid).unwrap_or(i32::MAX)
    }
}
