//! What is known of a span of a stream when it ends.

use crate::stats::path_ids::ROOT;

/// What became of a span that is closed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::gpu::resolver) struct Closed {
    /// Its duration without what the event pairs nested in it took; 0 if it is not known.
    pub(in crate::gpu::resolver) ns: u64,
    /// The event overhead in it, ns, which spans around it do not have.
    pub(in crate::gpu::resolver) overhead_ns: u64,
    /// Event pairs of spans nested in it.
    pub(in crate::gpu::resolver) nested_pairs: u64,
    /// Between the events of the shortest of these, ns.
    pub(in crate::gpu::resolver) shortest_nested_ns: u64,
    /// The time of its children without their event overhead, by their weights.
    pub(in crate::gpu::resolver) nested_ns: u64,
    /// The part of it that counts twice because children overlapped.
    pub(in crate::gpu::resolver) nested_again_ns: u64,
    /// The part of it that belongs to other spans: to those that shared it with the children, and
    /// to calls on several streams, which are nested in no span.
    pub(in crate::gpu::resolver) nested_lost_ns: f64,
    /// A child stands for several by its own sampling, so that `nested_ns` may be more than the
    /// span's duration.
    pub(in crate::gpu::resolver) is_sampled: bool,
    /// The parts of others in the time that it shared with them, ns.
    pub(in crate::gpu::resolver) lost_ns: f64,
    /// It shared time of unknown length.
    pub(in crate::gpu::resolver) is_undivided: bool,
    /// It or a span nested in it shared time, was nested in a span that it outlasted, or is of a
    /// call on several streams: the sum of such spans is not their union.
    pub(in crate::gpu::resolver) is_beside_others: bool,
    /// No span of its window around it is of the same site.
    pub(in crate::gpu::resolver) is_outermost: bool,
    /// The path of the span of its window that it was nested in; [`ROOT`] for none.
    pub(in crate::gpu::resolver) parent_path: u32,
    /// A span nested in it had work for the GPU, as far as is known.
    pub(in crate::gpu::resolver) has_nested_work: bool,
    /// Neither it nor a span nested in it may have had work for the GPU.
    pub(in crate::gpu::resolver) may_be_host: bool,
}

impl Closed {
    pub(super) const NOTHING: Self = Self {
        ns: 0,
        overhead_ns: 0,
        nested_pairs: 0,
        shortest_nested_ns: u64::MAX,
        nested_ns: 0,
        nested_again_ns: 0,
        nested_lost_ns: 0.0,
        is_sampled: false,
        lost_ns: 0.0,
        is_undivided: false,
        is_beside_others: false,
        is_outermost: true,
        parent_path: ROOT,
        has_nested_work: false,
        may_be_host: false,
    };

    /// Of a duration, what is left without the event pairs nested in it, each of which takes twice
    /// the overhead; not less than the time of the spans nested in it. What was measured beside
    /// other work may be too much: no event takes longer than a span with one.
    pub(super) fn without_nested_pairs(&self, ns: u64, nested_ns: u64) -> u64 {
        let overhead_ns = self.overhead_ns.min(self.shortest_nested_ns);
        let pairs_ns = (2 * overhead_ns).saturating_mul(self.nested_pairs);
        let least_ns = if self.is_sampled {
            0
        } else {
            nested_ns.min(ns)
        };
        ns.saturating_sub(pairs_ns).max(least_ns)
    }

    /// Its duration without any event.
    pub(super) fn without_overhead(&self) -> u64 {
        self.ns.saturating_sub(self.overhead_ns)
    }
}
