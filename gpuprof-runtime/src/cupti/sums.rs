//! Sums of what one row of the tables shows.
//!
//! Histogram arithmetic. Must not import anything that calls CUPTI.

use crate::stats::Durations;
use gpuprof_report::histogram::Histogram;

/// Launch shapes of a kernel that are told apart.
const MOST_SHAPES: usize = 64;
/// Streams that are told apart.
const MOST_STREAMS: usize = 1_024;

/// Durations with their spread.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    pub(super) all: Durations,
    pub(super) spread: Histogram,
}

impl Sums {
    pub(super) fn add(&mut self, ns: u64) {
        self.all.add(ns);
        self.spread.record(ns);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.all.merge(&other.all);
        self.spread.merge(&other.spread);
    }
}

/// Streams that something ran on.
#[derive(Clone, Debug, Default)]
pub(super) struct Streams(Vec<(u32, u32)>);

impl Streams {
    pub(super) fn add(&mut self, stream: (u32, u32)) {
        if self.0.last() == Some(&stream) {
            return;
        }
        if let Err(at) = self.0.binary_search(&stream)
            && self.0.len() < MOST_STREAMS
        {
            self.0.insert(at, stream);
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        other.0.iter().for_each(|stream| self.add(*stream));
    }

    pub(super) fn count(&self) -> u32 {
        self.0.len() as u32
    }
}

/// How a kernel was launched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Shape {
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) dynamic_shared_bytes: u32,
    pub(super) static_shared_bytes: u32,
    pub(super) registers: u32,
}

/// One kernel of one function on one device.
#[derive(Clone, Debug, Default)]
pub(super) struct KernelSums {
    pub(super) times: Sums,
    pub(super) latency: Sums,
    pub(super) graph_calls: u64,
    /// With the time of each.
    pub(super) shapes: Vec<(Shape, u64)>,
    pub(super) streams: Streams,
}

impl KernelSums {
    pub(super) fn add_shape(&mut self, shape: Shape, ns: u64) {
        let has_room = self.shapes.len() < MOST_SHAPES;
        match self.shapes.iter_mut().find(|(known, _)| *known == shape) {
            Some((_, sum)) => *sum += ns,
            None if has_room => self.shapes.push((shape, ns)),
            None => {}
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.times.merge(&other.times);
        self.latency.merge(&other.latency);
        self.graph_calls += other.graph_calls;
        let shapes = other.shapes.iter();
        shapes.for_each(|(shape, ns)| self.add_shape(*shape, *ns));
        self.streams.merge(&other.streams);
    }
}

/// Copies of one direction, or memsets, of one function on one device.
#[derive(Clone, Debug, Default)]
pub(super) struct CopySums {
    pub(super) times: Sums,
    pub(super) bytes: u64,
    pub(super) pageable_calls: u64,
    pub(super) pageable_ns: u64,
    pub(super) blocking_calls: u64,
    /// Of the settled ones.
    pub(super) alone_ns: u64,
    pub(super) streams: Streams,
}

impl CopySums {
    pub(super) fn merge(&mut self, other: &Self) {
        self.times.merge(&other.times);
        self.bytes += other.bytes;
        self.pageable_calls += other.pageable_calls;
        self.pageable_ns += other.pageable_ns;
        self.blocking_calls += other.blocking_calls;
        self.alone_ns += other.alone_ns;
        self.streams.merge(&other.streams);
    }
}

/// One CUDA call of one function.
#[derive(Clone, Debug, Default)]
pub(super) struct ApiSums {
    pub(super) times: Sums,
    pub(super) failed: u64,
}

impl ApiSums {
    pub(super) fn merge(&mut self, other: &Self) {
        self.times.merge(&other.times);
        self.failed += other.failed;
    }
}

/// What the closed calls of one function had the GPU do.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CallSums {
    pub(super) busy_ns: u64,
    /// Of that the calls that were timed by events.
    pub(super) timed_busy_ns: u64,
    pub(super) calls: u64,
    pub(super) activities: u64,
    pub(super) launches: u64,
    pub(super) streams: u32,
    /// One bit for each.
    pub(super) devices: u64,
    pub(super) first_ns: Option<u64>,
}

impl CallSums {
    pub(super) fn merge(&mut self, other: &Self) {
        self.busy_ns += other.busy_ns;
        self.timed_busy_ns += other.timed_busy_ns;
        self.calls += other.calls;
        self.activities += other.activities;
        self.launches += other.launches;
        self.streams = self.streams.max(other.streams);
        self.devices |= other.devices;
        self.first_ns = self.first_ns.or(other.first_ns);
    }
}
