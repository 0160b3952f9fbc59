//! The overhead of a span on the CPU side, measured in the process that the report is about.

use std::hint;
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::clock;
use crate::gpu::Streams;
use crate::nvtx::Payload;
use crate::os::own_work;
use crate::recorder::CallArguments;
use crate::site::labels::LabelNumber;
use crate::site::{Meta, Site, SiteFlags};
use crate::span::Span;
use crate::stats::call_outcome::StatedWork;

/// Clock ticks that [`CALLS`] spans without a stream take, measured by [`calibrate`].
static SPAN_TICKS: AtomicU64 = AtomicU64::new(0);

/// A site for [`calibrate`] alone. The collector does not know its id, so no profile contains it.
static SITE: Site = Site::new(Meta {
    cpu: true,
    ..Meta::named("gpuprof", "gpuprof", file!(), line!())
});

/// Measures the CPU cost of one span, once per process: the difference between an annotated
/// function and the same function without the attribute, on this thread. No NVTX range is emitted,
/// so calibration does not show up in NVTX tools.
pub(crate) fn calibrate() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        SITE.set_id(u32::MAX - 1);
        SITE.set_flags(SiteFlags::MEASURE);
        // As a call of the program: those within gpuprof's own work are skipped.
        own_work::run_programs(|| {
            // Warm-up: allocates this thread's counters and the call-tree node.
            block(profiled);
            // The minimum of several blocks: interruptions are not overhead.
            let least = |call: fn(u64) -> u64| (0..BLOCKS).map(|_| block(call)).min().unwrap_or(0);
            let took = least(profiled).saturating_sub(least(bare));
            SPAN_TICKS.store(took, Relaxed);
        });
    });
}

const BLOCKS: usize = 8;
const CALLS: u64 = 256;

/// Clock ticks of [`CALLS`] calls.
fn block(call: fn(u64) -> u64) -> u64 {
    let before = clock::now();
    (0..CALLS).for_each(|value| {
        hint::black_box(call(hint::black_box(value)));
    });
    clock::now().saturating_sub(before)
}

#[inline(never)]
fn bare(value: u64) -> u64 {
    hint::black_box(value)
}

// `bare` as the attribute expands it.
#[inline(never)]
fn profiled(value: u64) -> u64 {
    let mut span = Span::off();
    if SITE.active() {
        span.enter(
            &SITE,
            || LabelNumber::NONE,
            || Streams::Inherit,
            || StatedWork::NONE,
            || Payload::None,
            CallArguments::default,
        );
    }
    hint::black_box(value)
}

/// The overhead of `calls` spans without a stream, in ns.
pub(crate) fn span_overhead_ns(calls: u64) -> u64 {
    let ticks = u128::from(SPAN_TICKS.load(Relaxed)) * u128::from(calls) / u128::from(CALLS);
    clock::scale().ns(ticks.try_into().unwrap_or(u64::MAX))
}
