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
pub(crate) struct Sums {
    pub(crate) all: Durations,
    pub(crate) spread: Histogram,
}

impl Sums {
    pub(crate) fn add(&mut self, ns: u64) {
        self.all.add(ns);
        self.spread.record(ns);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.all.merge(&other.all);
        self.spread.merge(&other.spread);
    }
}

/// Streams that something ran on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Streams(Vec<(u32, u32)>);

impl Streams {
    pub(crate) fn add(&mut self, stream: (u32, u32)) {
        if self.0.last() == Some(&stream) {
            return;
        }
        if let Err(at) = self.0.binary_search(&stream)
            && self.0.len() < MOST_STREAMS
        {
            self.0.insert(at, stream);
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        other.0.iter().for_each(|stream| self.add(*stream));
    }

    pub(crate) fn count(&self) -> u32 {
        self.0.len() as u32
    }
}

/// How a kernel was launched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Shape {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) dynamic_shared_bytes: u32,
    pub(crate) static_shared_bytes: u32,
    pub(crate) registers: u32,
}

/// One kernel of one function on one device.
#[derive(Clone, Debug, Default)]
pub(crate) struct KernelSums {
    pub(crate) times: Sums,
    pub(crate) latency: Sums,
    pub(crate) graph_calls: u64,
    /// With the time of each.
    pub(crate) shapes: Vec<(Shape, u64)>,
    pub(crate) streams: Streams,
}

impl KernelSums {
    pub(crate) fn add_shape(&mut self, shape: Shape, ns: u64) {
        let has_room = self.shapes.len() < MOST_SHAPES;
        match self.shapes.iter_mut().find(|(known, _)| *known == shape) {
            Some((_, sum)) => *sum += ns,
            None if has_room => self.shapes.push((shape, ns)),
            None => {}
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
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
pub(crate) struct CopySums {
    pub(crate) times: Sums,
    pub(crate) bytes: u64,
    pub(crate) pageable_calls: u64,
    pub(crate) pageable_ns: u64,
    pub(crate) blocking_calls: u64,
    /// Of the settled ones.
    pub(crate) exposed_ns: u64,
    pub(crate) streams: Streams,
}

impl CopySums {
    pub(crate) fn merge(&mut self, other: &Self) {
        self.times.merge(&other.times);
        self.bytes += other.bytes;
        self.pageable_calls += other.pageable_calls;
        self.pageable_ns += other.pageable_ns;
        self.blocking_calls += other.blocking_calls;
        self.exposed_ns += other.exposed_ns;
        self.streams.merge(&other.streams);
    }
}

/// One CUDA call of one function.
#[derive(Clone, Debug, Default)]
pub(crate) struct ApiSums {
    pub(crate) times: Sums,
    pub(crate) failed: u64,
}

impl ApiSums {
    pub(crate) fn merge(&mut self, other: &Self) {
        self.times.merge(&other.times);
        self.failed += other.failed;
    }
}

/// What the closed calls of one function had the GPU do.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CallSums {
    pub(crate) busy_ns: u64,
    /// Of that the calls that were timed by events.
    pub(crate) timed_busy_ns: u64,
    pub(crate) calls: u64,
    pub(crate) activities: u64,
    pub(crate) launches: u64,
    pub(crate) streams: u32,
    /// One bit for each.
    pub(crate) devices: u64,
    pub(crate) first_ns: Option<u64>,
}

impl CallSums {
    pub(crate) fn merge(&mut self, other: &Self) {
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
