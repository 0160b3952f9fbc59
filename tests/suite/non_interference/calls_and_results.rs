//! Promise: gpuprof adds no synchronizing call to a program, and changes no error, result or state.

use std::sync::Arc;
use std::thread;

use cudarc::driver::sys::CUresult;
use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, DriverError, LaunchConfig, PushKernelArg,
    result,
};
use cudarc::nvrtc::Ptx;
use gpuprof::{Mode, Session, gpu_profile, scope, with_stream};
use support::suite::Module;
use support::tests;
use support::{Gpu, World, function, gpu, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        not_one_call_more_that_waits_or_changes_anything,
        results_are_the_same,
        an_error_of_the_programs_own_is_the_same,
        a_thread_without_a_current_context_still_has_none,
        the_error_that_cudarc_keeps_for_the_user_is_not_touched,
        cudarc_stays_in_the_mode_it_was_in,
        events_are_used_again_and_not_piled_up,
    ]],
);

/// The driver functions that spans and the resolver may call. None of them waits, and none changes
/// what the user can see.
const ALLOWED: [&str; 25] = [
    "cuCtxGetCurrent",
    "cuCtxGetDevice",
    "cuCtxGetId",
    "cuCtxPopCurrent_v2",
    "cuCtxPushCurrent_v2",
    "cuDeviceGetAttribute",
    "cuDeviceGetName",
    "cuDeviceGetUuid",
    "cuDeviceGetUuid_v2",
    "cuDeviceTotalMem_v2",
    "cuDriverGetVersion",
    "cuEventCreate",
    "cuEventDestroy_v2",
    "cuEventElapsedTime",
    "cuEventElapsedTime_v2",
    "cuEventQuery",
    "cuEventRecord",
    "cuGetErrorName",
    "cuStreamCreate",
    "cuStreamDestroy_v2",
    "cuStreamGetCtx",
    "cuStreamIsCapturing",
    "cuThreadExchangeStreamCaptureMode",
    // If the resolver holds the last handle of an earlier test's context, cudarc releases that
    // context on the resolver's thread.
    "cuCtxSetCurrent",
    "cuDevicePrimaryCtxRelease_v2",
];

struct Program {
    stream: Arc<CudaStream>,
    other: Arc<CudaStream>,
    saxpy: CudaFunction,
}

impl Program {
    fn new(gpu: &Gpu) -> Self {
        let module = gpu
            .context
            .load_module(Ptx::from_src(kernels::SAXPY_PTX))
            .expect("module");
        Self {
            stream: gpu.another_stream(),
            other: gpu.another_stream(),
            saxpy: module.load_function(kernels::SAXPY).expect("function"),
        }
    }

    /// A typical program: several streams and threads, copies, events, a graph, and its own
    /// synchronization.
    fn run(&self) -> Result<Vec<f32>, DriverError> {
        let x = self.stream.clone_htod(&[1.0_f32, 2.0, 3.0, 4.0])?;
        let mut y = self.stream.clone_htod(&[10.0_f32, 20.0, 30.0, 40.0])?;
        scope!("program", &self.stream);
        for _ in 0..50 {
            saxpy(self, &self.stream, &x, &mut y)?;
        }
        with_stream(&self.other, || saxpy(self, &self.other, &x, &mut y))?;
        let event = self.stream.record_event(None)?;
        self.other.wait(&event)?;
        thread::scope(|scope| {
            let run = || saxpy(self, &self.other, &x, &mut y);
            scope.spawn(run).join().expect("no panic")
        })?;
        let copy = copies(&self.stream, &y)?;
        self.stream.synchronize()?;
        self.stream.context().synchronize()?;
        Ok(copy)
    }
}

#[gpu_profile(bytes = 12 * y.len())]
fn saxpy(
    program: &Program,
    stream: &Arc<CudaStream>,
    x: &CudaSlice<f32>,
    y: &mut CudaSlice<f32>,
) -> Result<(), DriverError> {
    let (n, a) = (y.len() as u32, 0.5_f32);
    let mut launch = stream.launch_builder(&program.saxpy);
    launch.arg(&n).arg(&a).arg(x).arg(y);
    // SAFETY: these are saxpy's parameters, and both slices hold `n` elements.
    unsafe { launch.launch(LaunchConfig::for_num_elems(n)) }?;
    Ok(())
}

#[gpu_profile]
fn copies(stream: &Arc<CudaStream>, y: &CudaSlice<f32>) -> Result<Vec<f32>, DriverError> {
    stream.clone_dtoh(y)
}

#[gpu_profile]
fn touches_nothing(_stream: &Arc<CudaStream>) {}

fn off() -> Session {
    Session::builder().mode(Mode::Off).start().expect("start")
}

/// Every driver call of the process and of this thread while `f` runs, by name.
fn calls<R>(w: &World, f: impl FnOnce() -> R) -> (R, Vec<(String, u64, u64)>) {
    w.sim.reset_calls();
    let result = f();
    let named = w.sim.calls_by_symbol().into_iter();
    let calls = named.map(|(name, all)| {
        let here = w.sim.calls_here(&name);
        (name, all, here)
    });
    (result, calls.collect())
}

fn not_one_call_more_that_waits_or_changes_anything() {
    let w = world();
    let program = Program::new(&w.gpu);
    let session = off();
    let (plain, without) = calls(&w, || program.run());
    drop(session);
    let session = w.session();
    // The snapshot is included: it may only wait for gpuprof's own events.
    let ((profiled, profile), with) = calls(&w, || {
        let result = program.run();
        let _now = session.snapshot();
        (result, gpuprof::collect())
    });
    assert_eq!(profiled, plain);
    assert_eq!(gpu(&profile, "saxpy").timed_calls, 52);
    let rest = |calls: &[(String, u64, u64)]| -> Vec<(String, u64)> {
        let rest = calls
            .iter()
            .filter(|(name, ..)| !ALLOWED.contains(&name.as_str()));
        rest.map(|(name, all, _)| (name.clone(), *all)).collect()
    };
    assert_eq!(rest(&with), rest(&without));
    // The program does call the functions that wait, so the comparison above means something.
    let waits = [
        "cuStreamSynchronize",
        "cuCtxSynchronize",
        "cuStreamWaitEvent",
        "cuMemcpyDtoHAsync_v2",
    ];
    for name in waits {
        assert!(with.iter().any(|(called, ..)| called == name), "{name}");
    }
    // On the program's thread gpuprof set no context and retained none. Before the first call of a
    // context it makes one stream there, on which it measures the event overhead.
    let here = |calls: &[(String, u64, u64)], name: &str| {
        calls
            .iter()
            .find(|(called, ..)| called == name)
            .map_or(0, |(_, _, here)| *here)
    };
    for (name, more) in [
        ("cuCtxSetCurrent", 0),
        ("cuDevicePrimaryCtxRelease_v2", 0),
        ("cuStreamCreate", 1),
    ] {
        assert_eq!(here(&with, name), here(&without, name) + more, "{name}");
    }
    drop(w.finish(session));
}

fn results_are_the_same() {
    let w = world();
    let program = Program::new(&w.gpu);
    let plain = {
        let _off = off();
        program.run()
    };
    // y plus 52 times 0.5 · x.
    assert_eq!(plain, Ok(vec![36.0, 72.0, 108.0, 144.0]));
    let session = w.session();
    assert_eq!(program.run(), plain);
    drop(w.finish(session));
}

fn an_error_of_the_programs_own_is_the_same() {
    let w = world();
    let program = Program::new(&w.gpu);
    let session = w.session();
    w.sim.fail(
        "cuLaunchKernel",
        3,
        1,
        CUresult::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES as i32,
    );
    let error = program.run().expect_err("the third launch fails");
    assert_eq!(
        error,
        DriverError(CUresult::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES)
    );
    let profile = w.finish(session);
    // The failed call counts, and its enclosing spans have ended.
    assert_eq!(function(&profile, "saxpy").calls, 3);
    assert_eq!(function(&profile, "program").calls, 1);
    assert_eq!(profile.diagnostics.errors, []);
}

fn a_thread_without_a_current_context_still_has_none() {
    let w = world();
    let session = w.session();
    thread::scope(|scope| {
        let fresh = || {
            assert_eq!(result::ctx::get_current(), Ok(None));
            // More open spans than the pool has pairs at first, so events are created on this
            // thread too.
            fn nested(stream: &Arc<CudaStream>, depth: u32) {
                scope!("nested", stream);
                assert_eq!(result::ctx::get_current(), Ok(None));
                touches_nothing(stream);
                if depth > 0 {
                    nested(stream, depth - 1);
                }
            }
            nested(&w.gpu.stream, 100);
            assert_eq!(result::ctx::get_current(), Ok(None));
            assert_eq!(w.sim.calls_here("cuCtxSetCurrent"), 0);
        };
        scope.spawn(fresh).join().expect("no panic");
    });
    let profile = w.finish(session);
    assert_eq!(gpu(&profile, "nested").timed_calls, 101);
    assert_eq!(profile.diagnostics.errors, []);
}

fn the_error_that_cudarc_keeps_for_the_user_is_not_touched() {
    let w = world();
    w.warm_up(|| touches_nothing(&w.gpu.stream));
    let session = w.session();
    let context = &w.gpu.context;
    let kept = DriverError(CUresult::CUDA_ERROR_INVALID_IMAGE);
    // In turn, the start record of a span fails, the end record of a span fails, and a span
    // succeeds.
    let spans = || {
        w.sim.fail(
            "cuEventRecord",
            1,
            1,
            CUresult::CUDA_ERROR_OUT_OF_MEMORY as i32,
        );
        touches_nothing(&w.gpu.stream);
        w.sim.fail(
            "cuEventRecord",
            2,
            1,
            CUresult::CUDA_ERROR_OUT_OF_MEMORY as i32,
        );
        touches_nothing(&w.gpu.stream);
        touches_nothing(&w.gpu.stream);
        let _report = gpuprof::collect();
    };
    context.record_err::<()>(Err(kept));
    spans();
    assert_eq!(context.check_err(), Err(kept));
    spans();
    assert_eq!(context.check_err(), Ok(()));
    let profile = w.finish(session);
    let function = function(&profile, "touches_nothing");
    assert_eq!((function.calls, function.untimed.cuda_error), (6, 4));
    assert_eq!(
        profile
            .diagnostics
            .errors
            .iter()
            .map(|error| error.count)
            .sum::<u64>(),
        4
    );
}

fn cudarc_stays_in_the_mode_it_was_in() {
    let w = world();
    // A context on which no stream was created: cudarc then orders no work between streams with
    // events.
    let context = CudaContext::new(0).expect("context");
    let stream = context.default_stream();
    let session = w.session();
    (0..100).for_each(|_| touches_nothing(&stream));
    drop(gpuprof::collect());
    assert!(!context.is_in_multi_stream_mode());
    let profile = w.finish(session);
    assert_eq!(gpu(&profile, "touches_nothing").timed_calls, 100);
}

fn events_are_used_again_and_not_piled_up() {
    let w = world();
    w.warm_up(|| touches_nothing(&w.gpu.stream));
    let session = w.session();
    let call = || {
        touches_nothing(&w.gpu.stream);
        w.gpu.context.synchronize().expect("synchronize");
        drop(gpuprof::collect());
    };
    call();
    let before = w.sim.live_events();
    (0..200).for_each(|_| call());
    assert_eq!(w.sim.live_events(), before);
    let profile = w.finish(session);
    assert_eq!(gpu(&profile, "touches_nothing").timed_calls, 201);
}
