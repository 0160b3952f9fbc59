//! What gpuprof itself costs on the CPU side, measured in the very process that a report is about.
//!
//! Must not import report.

use std::hint;
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::clock;
use crate::gpu::Streams;
use crate::nvtx::Payload;
use crate::site::{Meta, Site, SiteFlags};
use crate::span::Span;
use crate::stats::call::StatedWork;

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
    graph: false,
    is_async: false,
    sample: 0,
    color: None,
    category: None,
});

/// Measures once what a span costs here: the difference between a function with one and the same without, on this thread,
/// as the compiler makes of any annotated function. Its site is one that no report shows, and NVTX stays out of it, or a tool
/// would show it.
pub(crate) fn calibrate() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        SELF.set_id(u32::MAX - 1);
        SELF.set_flags(SiteFlags::MEASURE);
        // The first ones go the slow way.
        block(profiled);
        // The least of several: what comes between is the machine's, not ours.
        let least = |call: fn(u64) -> u64| (0..BLOCKS).map(|_| block(call)).min().unwrap_or(0);
        let took = least(profiled).saturating_sub(least(bare));
        CPU_COST_PS.store(clock::ns(took.saturating_mul(1_000)) / CALLS, Relaxed);
    });
}

const BLOCKS: usize = 8;
const CALLS: u64 = 256;

/// Clock ticks of [`CALLS`] calls.
fn block(call: fn(u64) -> u64) -> u64 {
    let before = clock::now();
    (0..CALLS).for_each(|at| {
        hint::black_box(call(hint::black_box(at)));
    });
    clock::now().saturating_sub(before)
}

#[inline(never)]
fn bare(value: u64) -> u64 {
    hint::black_box(value)
}

// What the attribute makes of `bare`.
#[inline(never)]
fn profiled(value: u64) -> u64 {
    let mut span = Span::off();
    if SELF.active() {
        span.enter(
            &SELF,
            || Streams::Inherit,
            || StatedWork::NONE,
            || Payload::None,
        );
    }
    hint::black_box(value)
}

/// What so many spans cost on the CPU side, ns.
pub(crate) fn cpu_cost_ns(calls: u64) -> u64 {
    (u128::from(CPU_COST_PS.load(Relaxed)) * u128::from(calls) / 1_000)
        .try_into()
        .unwrap_or(u64::MAX)
}
