//! Promise: a stated stream takes precedence over those among the arguments, an argument that is a
//! stream over those that carry one, and of each kind the first over the others. A function without
//! a stream inherits one from its surroundings, or has none.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use gpuprof::{gpu_profile, scope, with_stream};
use promises::{Tolerance, assert_kept};
use support::suite::Module;
use support::tests;
use support::{World, function, world};

use crate::stream_arguments::{NS, timed};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        stated_streams,
        the_first_that_has_one_wins,
        a_stream_comes_before_what_carries_one,
        carriers_that_disagree_are_named,
        several_streams_are_one_call,
        the_enclosing_span_and_with_stream_lend_theirs,
        without_a_stream_there_is_cpu_time_alone,
    ]],
);

struct Inner {
    stream: Arc<CudaStream>,
}

impl Inner {
    fn made_here(&self) -> Arc<CudaStream> {
        Arc::clone(&self.stream)
    }
}

/// A type without `HasStream`: only a stated stream counts.
struct Opaque {
    inner: Inner,
}

#[gpu_profile(stream = self.inner.stream, category = "block")]
impl Opaque {
    fn stated_field(&self, w: &World) {
        w.gpu.kernel_on(&self.inner.stream, NS);
    }

    fn without_self(w: &World, stream: &Arc<CudaStream>) {
        w.gpu.kernel_on(stream, NS);
    }

    #[gpu_profile(stream = self.inner.made_here())]
    fn stated_call(&self, w: &World) {
        w.gpu.kernel_on(&self.inner.stream, NS);
    }

    #[gpu_profile(stream = &self.inner.stream)]
    fn stated_reference(&self, w: &World) {
        w.gpu.kernel_on(&self.inner.stream, NS);
    }
}

#[gpu_profile]
fn unbounded<T>(w: &World, hidden: &T, found: &Arc<CudaStream>) {
    let _ = hidden;
    w.gpu.kernel_on(found, NS);
}

#[gpu_profile]
fn first_wins(w: &World, first: &Arc<CudaStream>, second: &CudaSlice<f32>) {
    w.gpu.kernel_on(first, NS);
    w.gpu.kernel_on(second.stream(), 10 * NS);
}

#[gpu_profile(stream = second)]
fn stated_wins(w: &World, first: &Arc<CudaStream>, second: &Arc<CudaStream>) {
    w.gpu.kernel_on(first, 10 * NS);
    w.gpu.kernel_on(second, NS);
}

#[gpu_profile(stream = [first, w.gpu.stream])]
fn several(w: &World, first: &Arc<CudaStream>) {
    w.gpu.kernel_on(first, NS);
}

#[gpu_profile]
fn nothing_to_find<T>(w: &World, _hidden: &T) {
    w.gpu.kernel(NS);
}

#[gpu_profile(cpu)]
fn cpu_only(w: &World, stream: &Arc<CudaStream>) {
    w.gpu.kernel_on(stream, NS);
}

fn stated_streams() {
    let w = world();
    let opaque = Opaque {
        inner: Inner {
            stream: w.gpu.another_stream(),
        },
    };
    let names = [
        "Opaque::stated_field",
        "Opaque::without_self",
        "Opaque::stated_call",
        "Opaque::stated_reference",
        "stated_wins",
    ];
    timed(&w, &names, || {
        opaque.stated_field(&w);
        Opaque::without_self(&w, &w.gpu.stream);
        opaque.stated_call(&w);
        opaque.stated_reference(&w);
        stated_wins(&w, &w.gpu.stream, &opaque.inner.stream);
    });
}

fn the_first_that_has_one_wins() {
    let w = world();
    let memory = w.gpu.another_stream().alloc_zeros::<f32>(4).unwrap();
    timed(&w, &["first_wins", "unbounded"], || {
        first_wins(&w, &w.gpu.stream, &memory);
        w.gpu.context.synchronize().unwrap();
        unbounded(&w, &memory, &w.gpu.stream);
    });
}

fn several_streams_are_one_call() {
    let w = world();
    let session = w.session();
    several(&w, &w.gpu.another_stream());
    w.cpu(100 * NS);
    let profile = w.finish(session);
    let several = function(&profile, "several");
    assert_eq!((several.calls, several.has_stream), (1, true));
    assert_eq!(several.gpu.as_ref().map(|gpu| gpu.timed_calls), Some(1));
}

fn the_enclosing_span_and_with_stream_lend_theirs() {
    #[gpu_profile]
    fn encloses(w: &World, _stream: &Arc<CudaStream>) {
        nothing_to_find(w, &w.gpu.stream);
    }
    let w = world();
    timed(&w, &["nothing_to_find"], || encloses(&w, &w.gpu.stream));
    timed(&w, &["nothing_to_find"], || {
        with_stream(&w.gpu.stream, || nothing_to_find(&w, &1))
    });
    timed(
        &w,
        &["scope/lent", "scope/stated", "scope/by value"],
        || {
            with_stream(&w.gpu.stream, || {
                scope!("scope/lent");
                w.gpu.kernel(NS);
            });
            {
                scope!("scope/stated", w.gpu.stream);
                w.gpu.kernel(NS);
            }
            scope!("scope/by value", w.gpu.stream.clone());
            w.gpu.kernel(NS);
        },
    );
}

fn without_a_stream_there_is_cpu_time_alone() {
    let w = world();
    let session = w.session();
    nothing_to_find(&w, &w.gpu.stream);
    cpu_only(&w, &w.gpu.stream);
    let profile = w.finish(session);
    for name in ["nothing_to_find", "cpu_only"] {
        let found = function(&profile, name);
        assert_eq!(
            (found.calls, found.has_stream, &found.gpu),
            (1, false, &None),
            "{name}"
        );
    }
    assert!(function(&profile, "cpu_only").cpu_only);
}

fn a_stream_comes_before_what_carries_one() {
    let w = world();
    let observed = promises::stream_choice::streams_before_carriers(&w.gpu, Tolerance::EXACT);
    assert_kept(observed);
}

fn carriers_that_disagree_are_named() {
    let w = world();
    let observed = promises::stream_choice::carriers_that_disagree(&w.gpu, Tolerance::EXACT);
    assert_kept(observed);
}
