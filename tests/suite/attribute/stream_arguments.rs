//! Promise: a call is timed on the stream among its arguments, whatever form the argument has.
//!
//! Each function launches [`NS`] on the intended stream; timed on another stream it would read 0.

use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, CudaView, CudaViewMut};
use gpuprof::{StreamRef, gpu_profile};
use support::executor::poll;
use support::suite::Module;
use support::tests;
use support::{World, gpu_times, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        references_to_streams_and_memory,
        values_that_the_body_moves,
        a_moved_slice_that_owns_the_last_handle_of_its_stream,
        what_patterns_bind,
        a_users_own_type_and_self,
    ]],
);

pub(crate) const NS: u64 = 3_000;

/// Runs `f` in a session and asserts that each name has one timed call of [`NS`].
pub(crate) fn timed(w: &World, names: &[&str], f: impl FnOnce()) {
    let session = w.session();
    f();
    // `finish` does not wait for streams that were dropped, so the clock must pass their work.
    w.cpu(100 * NS);
    let profile = w.finish(session);
    for name in names {
        assert_eq!(gpu_times(&profile, name), (1, NS, NS), "{name}");
    }
}

mod reference {
    use super::*;

    #[gpu_profile]
    pub(super) fn arc(w: &World, stream: &Arc<CudaStream>) {
        w.gpu.kernel_on(stream, NS);
    }

    #[gpu_profile]
    pub(super) fn bare(w: &World, stream: &CudaStream, same: impl Fn() -> Arc<CudaStream>) {
        let _ = stream;
        w.gpu.kernel_on(&same(), NS);
    }

    #[gpu_profile]
    pub(super) fn of_reference(w: &World, stream: &&mut Arc<CudaStream>) {
        w.gpu.kernel_on(stream, NS);
    }

    #[gpu_profile]
    pub(super) fn slice(w: &World, x: &CudaSlice<f32>) {
        w.gpu.kernel_on(x.stream(), NS);
    }

    #[gpu_profile]
    pub(super) fn slice_mut(w: &World, x: &mut CudaSlice<f32>) {
        w.gpu.kernel_on(x.stream(), NS);
    }

    #[gpu_profile]
    pub(super) fn view(w: &World, x: &CudaView<'_, f32>, stream: impl Fn() -> Arc<CudaStream>) {
        let _ = x;
        w.gpu.kernel_on(&stream(), NS);
    }
}

mod value {
    use super::*;

    #[gpu_profile]
    pub(super) fn arc(w: &World, stream: Arc<CudaStream>) {
        w.gpu.kernel_on(&stream, NS);
        drop(stream);
    }

    #[gpu_profile]
    pub(super) fn slice(w: &World, x: CudaSlice<f32>) {
        w.gpu.kernel_on(x.stream(), NS);
        drop(x);
    }

    #[gpu_profile]
    pub(super) fn view_mut(w: &World, x: CudaViewMut<'_, f32>, same: impl Fn() -> Arc<CudaStream>) {
        let _ = x;
        w.gpu.kernel_on(&same(), NS);
    }

    #[gpu_profile]
    pub(super) fn boxed(w: &World, x: Box<CudaSlice<f32>>) {
        w.gpu.kernel_on(x.stream(), NS);
    }

    #[gpu_profile]
    pub(super) fn counted(w: &World, x: Rc<CudaSlice<f32>>) {
        w.gpu.kernel_on(x.stream(), NS);
    }

    #[gpu_profile]
    pub(super) fn pinned(w: &World, x: Pin<Box<Model>>) {
        w.gpu.kernel_on(&x.stream, NS);
    }
}

mod pattern {
    use super::*;

    pub(super) struct Parts {
        pub(super) stream: Arc<CudaStream>,
        pub(super) size: u32,
    }

    #[gpu_profile]
    pub(super) fn tuple(w: &World, (size, stream): (u32, &Arc<CudaStream>)) {
        let _ = size;
        w.gpu.kernel_on(stream, NS);
    }

    #[gpu_profile]
    pub(super) fn structure(
        w: &World,
        Parts {
            size: _,
            stream: renamed,
        }: Parts,
    ) {
        w.gpu.kernel_on(&renamed, NS);
    }

    #[gpu_profile]
    pub(super) fn slice(w: &World, [_, second]: [Arc<CudaStream>; 2]) {
        w.gpu.kernel_on(&second, NS);
    }

    #[gpu_profile]
    pub(super) fn raw(w: &World, mut r#type: Arc<CudaStream>) {
        w.gpu.kernel_on(&r#type, NS);
        r#type = w.gpu.another_stream();
        drop(r#type);
    }
}

/// A user's own type.
struct Model {
    stream: Arc<CudaStream>,
}

impl gpuprof::HasStream for Model {
    fn stream_ref(&self) -> Option<StreamRef<'_>> {
        Some(StreamRef::from(&self.stream))
    }
}

impl Model {
    #[gpu_profile]
    fn by_self(&self, w: &World) {
        w.gpu.kernel_on(&self.stream, NS);
    }

    #[gpu_profile]
    fn self_before_others(&mut self, w: &World, _other: &CudaSlice<f32>) {
        w.gpu.kernel_on(&self.stream, NS);
    }

    #[gpu_profile]
    fn by_arc(self: Arc<Self>, w: &World) {
        w.gpu.kernel_on(&self.stream, NS);
    }

    #[gpu_profile]
    async fn later(&self, w: &World) {
        w.gpu.kernel_on(&self.stream, NS);
    }

    #[gpu_profile]
    fn boxed_later<'a>(&'a self, w: &'a World) -> Pin<Box<dyn Future<Output = ()> + 'a>> {
        Box::pin(async move { w.gpu.kernel_on(&self.stream, NS) })
    }
}

#[gpu_profile]
fn bounded<S: gpuprof::HasStream>(w: &World, has: &S, stream: impl Fn() -> Arc<CudaStream>) {
    let _ = has;
    w.gpu.kernel_on(&stream(), NS);
}

fn references_to_streams_and_memory() {
    let w = world();
    let stream = &w.gpu.stream;
    let mut x = stream.alloc_zeros::<f32>(4).unwrap();
    let names = ["arc", "bare", "of_reference", "slice", "slice_mut", "view"]
        .map(|name| format!("reference::{name}"));
    timed(&w, &names.each_ref().map(String::as_str), || {
        reference::arc(&w, stream);
        reference::bare(&w, stream, || Arc::clone(stream));
        reference::of_reference(&w, &&mut Arc::clone(stream));
        reference::slice(&w, &x);
        reference::slice_mut(&w, &mut x);
        reference::view(&w, &x.slice(1..), || Arc::clone(stream));
    });
}

fn values_that_the_body_moves() {
    let w = world();
    let stream = &w.gpu.stream;
    let memory = || stream.alloc_zeros::<f32>(4).unwrap();
    let mut x = memory();
    let names = ["arc", "slice", "view_mut", "boxed", "counted", "pinned"]
        .map(|name| format!("value::{name}"));
    timed(&w, &names.each_ref().map(String::as_str), || {
        value::arc(&w, Arc::clone(stream));
        value::slice(&w, memory());
        value::view_mut(&w, x.slice_mut(..), || Arc::clone(stream));
        value::boxed(&w, Box::new(memory()));
        value::counted(&w, Rc::new(memory()));
        value::pinned(
            &w,
            Box::pin(Model {
                stream: Arc::clone(stream),
            }),
        );
    });
}

fn a_moved_slice_that_owns_the_last_handle_of_its_stream() {
    let w = world();
    let x = w.gpu.another_stream().alloc_zeros::<f32>(4).unwrap();
    assert_eq!(Arc::strong_count(x.stream()), 1);
    timed(&w, &["value::slice"], || value::slice(&w, x));
}

fn what_patterns_bind() {
    let w = world();
    let stream = &w.gpu.stream;
    let names = ["tuple", "structure", "slice", "raw"].map(|name| format!("pattern::{name}"));
    timed(&w, &names.each_ref().map(String::as_str), || {
        pattern::tuple(&w, (1, stream));
        let parts = pattern::Parts {
            stream: Arc::clone(stream),
            size: 1,
        };
        assert_eq!(parts.size, 1);
        pattern::structure(&w, parts);
        pattern::slice(&w, [w.gpu.another_stream(), Arc::clone(stream)]);
        pattern::raw(&w, Arc::clone(stream));
    });
}

fn a_users_own_type_and_self() {
    let w = world();
    let mut model = Model {
        stream: w.gpu.another_stream(),
    };
    let names = [
        "Model::by_self",
        "Model::self_before_others",
        "Model::by_arc",
        "Model::later",
        "Model::boxed_later",
        "bounded",
    ];
    timed(&w, &names, || {
        model.by_self(&w);
        let other = w.gpu.stream.alloc_zeros(1).expect("memory");
        model.self_before_others(&w, &other);
        Arc::new(Model {
            stream: Arc::clone(&model.stream),
        })
        .by_arc(&w);
        assert!(poll(pin!(model.later(&w))).is_ready());
        assert!(poll(pin!(model.boxed_later(&w))).is_ready());
        bounded(&w, &model, || Arc::clone(&model.stream));
    });
}
