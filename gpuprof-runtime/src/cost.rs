//! What gpuprof itself costs on the CPU side, measured in the very process that a report is about.

use std::hint;
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::clock;
use crate::collector::MEASURE;
use crate::gpu::Streams;
use crate::nvtx::Payload;
use crate::site::{Meta, Site};
use crate::span::Span;
use crate::stats::node::Work;

/// Picoseconds that one CPU-side span takes, as [`calibrate`] found them.
static CPU_COST_PS: AtomicU64 = AtomicU64::new(0);

/// A site for [`calibrate`] alone: its number is none of the collector's, so that no profile shows it.
static SELF: Site = Site::new(Meta {
    path: || "gpuprof",
    name: Some("gpuprof"),
    module: "gpuprof",
    file: file!(),
    line: line!(),
    cpu: true,
    is_async: false,
    sample: 0,
    color: None,
    category: None,
});

/// Measures once what a span costs here: real spans, on this thread, of a site that no report shows. NVTX stays out of it,
/// or a tool would show them.
pub(crate) fn calibrate() {
    const ROUNDS: u64 = 2_048;
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        SELF.set_id(u32::MAX - 1);
        let one = || {
            let streams = || Streams::Inherit;
            let span = Span::enter_under(MEASURE, &SELF, streams, || Work::NONE, || Payload::None);
            // As if a function stood between the two ends.
            hint::black_box(&span);
        };
        // The first ones go the slow way.
        (0..ROUNDS / 8).for_each(|_| one());
        let before = clock::now();
        (0..ROUNDS).for_each(|_| one());
        let took = clock::ns(clock::now().saturating_sub(before));
        CPU_COST_PS.store(took.saturating_mul(1_000) / ROUNDS, Relaxed);
    });
}

/// What so many spans cost on the CPU side, ns.
pub(crate) fn cpu_cost_ns(calls: u64) -> u64 {
    (u128::from(CPU_COST_PS.load(Relaxed)) * u128::from(calls) / 1_000)
        .try_into()
        .unwrap_or(u64::MAX)
}
