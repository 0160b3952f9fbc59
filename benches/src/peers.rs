//! What people would otherwise put on their functions, each set up as its documentation says and
//! around the same body.
//!
//! Each peer gets a worker of its own, since each has threads of its own.

use std::sync::Once;

use fastrace::collector::{Config, Reporter, SpanContext, SpanRecord};
use tracing_subscriber::layer::{Layer, SubscriberExt};

use crate::cpu_rows::{body, repeat};

/// Makes so many calls of a row.
pub(crate) type Loop = fn(u64);

/// The rows of peers.
pub(crate) const LOOPS: [(&str, Loop); 3] = [
    ("hotpath", hotpath_loop),
    ("fastrace", fastrace_loop),
    ("tracing", tracing_loop),
];

/// Its feature `hotpath` alone: time, no allocations, and without its watch over threads.
#[hotpath::measure]
#[inline(never)]
fn hotpath_measured(argument: u64) -> u64 {
    body(argument)
}

fn hotpath_loop(calls: u64) {
    static SET_UP: Once = Once::new();
    SET_UP.call_once(|| {
        // Its report is written when the guard is dropped, which is not what is measured.
        std::mem::forget(hotpath::HotpathGuardBuilder::new("cost").build());
    });
    repeat(hotpath_measured, calls);
}

#[fastrace::trace]
#[inline(never)]
fn fastrace_traced(argument: u64) -> u64 {
    body(argument)
}

/// Takes what fastrace collected and drops it, as the cheapest exporter would.
struct Forget;

impl Reporter for Forget {
    fn report(&mut self, spans: Vec<SpanRecord>) {
        drop(spans);
    }
}

/// Spans below a root: one that sampled nothing would be no span. fastrace drops what passes 10,240
/// spans of one parent, so the root is renewed well before, and its own cost is spread over these.
fn fastrace_loop(calls: u64) {
    const SPANS_OF_A_ROOT: u64 = 1_000;
    static SET_UP: Once = Once::new();
    SET_UP.call_once(|| fastrace::set_reporter(Forget, Config::default()));
    let mut left = calls;
    while left > 0 {
        let spans = left.min(SPANS_OF_A_ROOT);
        let root = fastrace::Span::root("root", SpanContext::random());
        let _parent = root.set_local_parent();
        repeat(fastrace_traced, spans);
        left -= spans;
    }
}

#[inline(never)]
fn tracing_spanned(argument: u64) -> u64 {
    let _entered = tracing::info_span!("bench").entered();
    body(argument)
}

/// Wants every span and does nothing with it: what tracing costs before anything measures.
struct Nothing;

impl<S: tracing::Subscriber> Layer<S> for Nothing {}

fn tracing_loop(calls: u64) {
    static SET_UP: Once = Once::new();
    SET_UP.call_once(|| {
        let registry = tracing_subscriber::registry().with(Nothing);
        // It fails where one is set already, and nobody else here sets one.
        let _ = tracing::subscriber::set_global_default(registry);
    });
    repeat(tracing_spanned, calls);
}

/// Hands over what a peer still holds back, so that its threads do that work now and not in the
/// next row's time.
pub(crate) fn hand_over(row: &str) {
    if row == "fastrace" {
        fastrace::flush();
    }
}
