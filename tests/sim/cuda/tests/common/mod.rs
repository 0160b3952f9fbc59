//! Shared by the tests. Each test file is a process with its own driver configuration.
#![allow(dead_code, reason = "no test file uses all of it")]

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::sys::{CUevent, CUevent_flags, CUresult};
use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, DriverError, LaunchConfig, PushKernelArg,
    result,
};
use cudarc::nvrtc::Ptx;
use simcuda::{Options, Sim, install_with};

/// The simulator under the virtual clock, for one test at a time: the tests of a file share clock
/// and counts.
pub(crate) fn virtual_clock() -> (Sim, MutexGuard<'static, ()>) {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let sim = install_with(&Options {
        virtual_clock: true,
        ..Options::default()
    })
    .unwrap();
    sim.clear_failures();
    (sim, turn)
}

/// A context and a stream on device 0, without cudarc's event tracking, which would make calls of
/// its own.
pub(crate) fn context_and_stream() -> (Arc<CudaContext>, Arc<CudaStream>) {
    let context = CudaContext::new(0).unwrap();
    // SAFETY: these tests order their streams themselves.
    unsafe { context.disable_event_tracking() };
    let stream = context.new_stream().unwrap();
    (context, stream)
}

/// A kernel of the workspace's PTX files.
pub(crate) fn function(context: &Arc<CudaContext>, name: &str) -> CudaFunction {
    let text = match name {
        "saxpy" => include_str!("../../../../../kernels/ptx/saxpy.ptx"),
        "matmul_naive" | "matmul_tiled" => include_str!("../../../../../kernels/ptx/matmul.ptx"),
        "transpose" => include_str!("../../../../../kernels/ptx/transpose.ptx"),
        "reduce_sum" | "column_sums" => include_str!("../../../../../kernels/ptx/reduction.ptx"),
        "bias" | "bias_relu" | "relu_backward" | "softmax_cross_entropy" | "sgd" => {
            include_str!("../../../../../kernels/ptx/network.ptx")
        }
        "spin" => include_str!("../../../../../kernels/ptx/spin.ptx"),
        _ => include_str!("../../../../../kernels/ptx/convolution.ptx"),
    };
    context
        .load_module(Ptx::from_src(text))
        .unwrap()
        .load_function(name)
        .unwrap()
}

/// Launches saxpy over all of `y`.
pub(crate) fn saxpy(
    stream: &Arc<CudaStream>,
    function: &CudaFunction,
    a: f32,
    x: &CudaSlice<f32>,
    y: &mut CudaSlice<f32>,
) -> Result<(), DriverError> {
    let n = y.len() as u32;
    let mut launch = stream.launch_builder(function);
    launch.arg(&n).arg(&a).arg(x).arg(y);
    // SAFETY: the arguments are saxpy's.
    unsafe { launch.launch(LaunchConfig::for_num_elems(n)) }.map(drop)
}

/// A raw event in the current context.
pub(crate) fn event(flags: CUevent_flags) -> CUevent {
    result::event::create(flags).unwrap()
}

/// Milliseconds between two raw events.
pub(crate) fn elapsed(start: CUevent, end: CUevent) -> Result<f32, CUresult> {
    // SAFETY: the simulator validates handles.
    unsafe { result::event::elapsed(start, end) }.map_err(|error| error.0)
}

/// Records a raw event.
pub(crate) fn record(event: CUevent, stream: &CudaStream) -> Result<(), CUresult> {
    // SAFETY: the simulator validates handles.
    unsafe { result::event::record(event, stream.cu_stream()) }.map_err(|error| error.0)
}

/// Queries a raw event.
pub(crate) fn query(event: CUevent) -> Result<(), CUresult> {
    // SAFETY: the simulator validates handles.
    unsafe { result::event::query(event) }.map_err(|error| error.0)
}
