//! Other profilers' attributes and spans around the same body, set up as their documentation says.
//!
//! Each profiler has its own worker, because each starts threads.

use std::sync::Once;

use fastrace::collector::{Config, Reporter, SpanContext, SpanRecord};

use crate::loop_under_test::{Function, body, repeat};

/// Makes this many calls of a row.
pub(crate) type Loop = fn(u64);

/// The rows of the other profilers.
pub(crate) const LOOPS: [(&str, Loop); 2] =
    [("hotpath", hotpath_loop), ("fastrace", fastrace_loop)];

/// hotpath with only its feature `hotpath`: time, without allocations and thread monitoring.
#[hotpath::measure]
#[inline(never)]
fn hotpath_measured(argument: u64) -> u64 {
    body(argument)
}

fn hotpath_loop(calls: u64) {
    static SET_UP: Once = Once::new();
    SET_UP.call_once(|| {
        // The guard writes its report when it is dropped, which is not measured.
        std::mem::forget(hotpath::HotpathGuardBuilder::new("cost").build());
    });
    repeat(hotpath_measured, calls);
}

#[fastrace::trace]
#[inline(never)]
fn fastrace_traced(argument: u64) -> u64 {
    body(argument)
}

/// Drops what fastrace collected, like the cheapest exporter.
struct DiscardSpans;

impl Reporter for DiscardSpans {
    fn report(&mut self, spans: Vec<SpanRecord>) {
        drop(spans);
    }
}

/// Spans below a root, because without a root fastrace records nothing. fastrace drops more than
/// 10,240 spans per parent, so the root is renewed well before, and its cost is spread over its
/// spans.
fn fastrace_loop(calls: u64) {
    below_roots(fastrace_traced, calls);
}

/// Makes calls of `function` in spans of fastrace's.
pub(crate) fn below_roots(function: Function, calls: u64) {
    const SPANS_OF_A_ROOT: u64 = 1_000;
    static SET_UP: Once = Once::new();
    SET_UP.call_once(|| fastrace::set_reporter(DiscardSpans, Config::default()));
    let mut left = calls;
    while left > 0 {
        let spans = left.min(SPANS_OF_A_ROOT);
        let root = fastrace::Span::root("root", SpanContext::random());
        let _parent = root.set_local_parent();
        repeat(function, spans);
        left -= spans;
    }
}

/// Flushes what a profiler buffers, so that its threads do that work now and not during the next
/// row.
pub(crate) fn flush(row: &str) {
    if row.ends_with("fastrace") {
        fastrace::flush();
    }
}
