//! Promise: a stream of another version of cudarc is timed by its raw handles, beside this
//! version's on the same context. The program is of edition 2021.

use std::cell::RefCell;
use std::future::ready;
use std::sync::Arc;

use cudarc::driver::CudaStream;
use cudarc_0_18::driver as old;
use cudarc_0_18::driver::PushKernelArg;
use cudarc_0_18::nvrtc::Ptx;
use gpuprof::{HasStream, StreamRef, gpu_profile};
use support::executor::run;
use support::suite::Module;
use support::tests;
use support::{World, function, gpu, gpu_times, until, world_with};

const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        both_versions_are_timed_on_one_context,
        a_parameter_of_the_other_version_is_named_as_the_reason_for_no_stream,
        an_async_fn_of_an_older_edition_borrows_what_it_is_given,
        a_stream_that_both_versions_have_is_one_stream,
        a_context_that_only_the_older_version_holds_ends_when_it_lets_go
    ]],
);

fn main() -> std::process::ExitCode {
    support::suite::run(&[MODULE])
}

const LEN: usize = 4;

/// A library that uses the older cudarc.
struct Old {
    stream: Arc<old::CudaStream>,
    saxpy: old::CudaFunction,
    pointers: (u64, u64),
    _buffers: [old::CudaSlice<f32>; 2],
}

impl Old {
    fn new(ordinal: usize) -> Self {
        let context = old::CudaContext::new(ordinal).expect("context");
        let stream = context.new_stream().expect("stream");
        let module = context
            .load_module(Ptx::from_src(kernels::SAXPY_PTX))
            .expect("module");
        let buffers = [(); 2].map(|()| stream.alloc_zeros::<f32>(LEN).expect("memory"));
        let pointer = |slice: &old::CudaSlice<f32>| old::DevicePtr::device_ptr(slice, &stream).0;
        let pointers = (pointer(&buffers[0]), pointer(&buffers[1]));
        context.synchronize().expect("synchronize");
        Self {
            saxpy: module.load_function(kernels::SAXPY).expect("function"),
            stream,
            pointers,
            _buffers: buffers,
        }
    }

    fn kernel(&self, w: &World, ns: u64) {
        w.sim.set_kernel_ns(kernels::SAXPY, ns);
        let (n, a, (x, y)) = (LEN as u32, 1.0_f32, &self.pointers);
        let mut launch = self.stream.launch_builder(&self.saxpy);
        launch.arg(&n).arg(&a).arg(x).arg(y);
        // SAFETY: these are saxpy's parameters, and both buffers hold `n` elements.
        unsafe { launch.launch(old::LaunchConfig::for_num_elems(n)) }.expect("launch");
    }
}

/// gpuprof does not know the older types; the raw handles are enough.
impl HasStream for Old {
    fn stream_ref(&self) -> Option<StreamRef<'_>> {
        let context = self.stream.context().cu_ctx();
        // SAFETY: `self` owns both handles, and spans only borrow `self`.
        Some(unsafe { StreamRef::from_raw(self.stream.cu_stream().cast(), context.cast()) })
    }
}

#[gpu_profile]
fn on_old(w: &World, old: &Old, ns: u64) {
    old.kernel(w, ns);
}

#[gpu_profile]
fn around_old(_old: &Old, inside: impl FnOnce()) {
    inside();
}

#[gpu_profile]
fn on_new(w: &World, stream: &Arc<CudaStream>, ns: u64) {
    w.gpu.kernel_on(stream, ns);
}

#[gpu_profile(stream = [old, stream])]
fn on_both(w: &World, old: &Old, stream: &Arc<CudaStream>) {
    old.kernel(w, 3_000);
    w.gpu.kernel_on(stream, 5_000);
}

#[gpu_profile]
fn takes_old_stream(w: &World, _stream: &Arc<old::CudaStream>) {
    w.cpu(100);
}

fn a_parameter_of_the_other_version_is_named_as_the_reason_for_no_stream() {
    let w = world_with(1);
    let old = Old::new(0);
    let session = w.session();
    on_new(&w, &w.gpu.stream, 1_000);
    let without = session.snapshot();
    takes_old_stream(&w, &old.stream);
    let profile = w.finish(session);
    assert!(!function(&profile, "takes_old_stream").has_stream);
    let is_told = |profile: &gpuprof::Profile| {
        let mut notes = profile.diagnostics.notes.iter();
        notes.any(|note| note.starts_with("no stream in takes_old_stream: "))
    };
    assert_eq!((is_told(&without), is_told(&profile)), (false, true));
}

fn both_versions_are_timed_on_one_context() {
    let w = world_with(2);
    let old = Old::new(0);
    assert_eq!(
        old.stream.context().cu_ctx() as usize,
        w.gpu.context.cu_ctx() as usize
    );
    let session = w.session();
    around_old(&old, || {
        on_old(&w, &old, 2_000);
        on_new(&w, &w.gpu.stream, 70_000);
        old.kernel(&w, 100);
    });
    w.gpu.context.synchronize().expect("synchronize");
    on_both(&w, &old, &w.gpu.stream);
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "around_old"), (1, 2_100, 100));
    assert_eq!(gpu_times(&profile, "on_old"), (1, 2_000, 2_000));
    assert_eq!(gpu_times(&profile, "on_new"), (1, 70_000, 70_000));
    assert_eq!(gpu_times(&profile, "on_both"), (1, 5_000, 5_000));
    assert_eq!(profile.diagnostics.errors, []);
}

/// In edition 2021 a return type `impl Future` holds no lifetime that it does not name, and the
/// temporaries of a last expression outlive the locals.
#[gpu_profile]
async fn borrows(text: &str, bytes: &[u8], cell: RefCell<Vec<u8>>) -> usize {
    ready(()).await;
    text.len() + bytes.len() + cell.borrow().len()
}

fn an_async_fn_of_an_older_edition_borrows_what_it_is_given() {
    let w = world_with(1);
    let session = w.session();
    let (text, bytes) = (String::from("ab"), vec![1]);
    let sum = run(&w, borrows(&text, &bytes, RefCell::new(vec![2])), 0);
    assert_eq!(sum, 4);
    assert_eq!(function(&w.finish(session), "borrows").calls, 1);
}

fn a_stream_that_both_versions_have_is_one_stream() {
    let w = world_with(2);
    let old = Old::new(0);
    // SAFETY: the stream belongs to this context, and `old` owns it.
    let wrapped = unsafe {
        let handle = old.stream.cu_stream().cast();
        w.gpu.context.wrap_borrowed_stream(handle)
    };
    let session = w.session();
    around_old(&old, || {
        old.kernel(&w, 400);
        on_new(&w, &wrapped, 3_000);
    });
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "around_old"), (1, 3_400, 400));
    assert_eq!(gpu_times(&profile, "on_new"), (1, 3_000, 3_000));
    assert_eq!(profile.diagnostics.errors, []);
}

fn a_context_that_only_the_older_version_holds_ends_when_it_lets_go() {
    let w = world_with(2);
    let before = w.sim.live_contexts();
    let session = w.session();
    for round in 1..=3 {
        let old = Old::new(1);
        on_old(&w, &old, 1_000);
        old.stream.context().synchronize().expect("synchronize");
        // Its times are read while the context is alive, as `StreamRef::from_raw` requires.
        until(|| {
            let profile = session.snapshot();
            function(&profile, "on_old")
                .gpu
                .as_ref()
                .map(|gpu| gpu.timed_calls)
                == Some(round)
        });
        drop(old);
        assert_eq!(w.sim.live_contexts(), before, "gpuprof holds nothing");
    }
    let profile = w.finish(session);
    assert_eq!(gpu(&profile, "on_old").timed_calls, 3);
    assert_eq!(gpu(&profile, "on_old").device, Some(1));
    assert_eq!(profile.diagnostics.errors, []);
}
