//! The functions that random programs call, with and without the attribute.

use super::program::{Function, Step};
use super::run::{Functions, Run, Task};

/// `$is_profiled` is a condition of `cfg`. Each function has values that note their drop: before
/// and after the other parameters, and a local.
macro_rules! functions {
    ($functions:ident, $module:ident, $is_profiled:meta) => {
        pub(super) struct $functions;

        impl Functions for $functions {
            fn call(&self, run: &'static Run, function: Function, steps: &'static [Step]) {
                let stream = |lane| run.stream(lane);
                let (a, b) = (run.note(), run.note());
                match function {
                    Function::On(x) => $module::on(run, &[x], steps, a, &stream(x), b),
                    Function::Other(x) => $module::other(run, &[x], steps, a, stream(x), b),
                    Function::Both(x, y) => {
                        $module::both(run, &[x, y], steps, a, &stream(x), &stream(y), b);
                    }
                    Function::Inherits => $module::inherits(run, steps, a, b),
                    Function::Cpu => $module::cpu(run, steps, a, b),
                }
            }

            fn make(&self, run: &'static Run, function: Function, steps: &'static [Step]) -> Task {
                let stream = |lane| run.stream(lane);
                let (a, b) = (run.note(), run.note());
                match function {
                    Function::On(x) => {
                        let stream = stream(x);
                        Box::pin(async move {
                            $module::on_async(run, x, steps, a, &stream, b).await;
                        })
                    }
                    Function::Other(x) => {
                        Box::pin($module::other_async(run, x, steps, a, stream(x), b))
                    }
                    Function::Both(x, y) => Box::pin($module::both_async(
                        run,
                        [x, y],
                        steps,
                        a,
                        [stream(x), stream(y)],
                        b,
                    )),
                    Function::Inherits => Box::pin($module::inherits_async(run, steps, a, b)),
                    Function::Cpu => Box::pin($module::cpu_async(run, steps, a, b)),
                }
            }
        }

        mod $module {
            use std::sync::Arc;

            use cudarc::driver::CudaStream;
            #[cfg($is_profiled)]
            use gpuprof::gpu_profile;

            use super::super::program::{Lane, Step};
            use super::super::run::{Note, Run};

            #[cfg_attr($is_profiled, gpu_profile(name = "random/on", bytes = 8 * steps.len()))]
            pub(super) fn on(
                run: &'static Run,
                lanes: &[Lane],
                steps: &'static [Step],
                _first: Note,
                _stream: &Arc<CudaStream>,
                _last: Note,
            ) {
                let _local = run.note();
                let _span = run.enter("on", lanes);
                run.execute(steps);
            }

            #[cfg_attr($is_profiled, gpu_profile(name = "random/other", flops = steps.len()))]
            pub(super) fn other(
                run: &'static Run,
                lanes: &[Lane],
                steps: &'static [Step],
                _first: Note,
                _stream: Arc<CudaStream>,
                _last: Note,
            ) {
                let _local = run.note();
                let _span = run.enter("other", lanes);
                run.execute(steps);
            }

            #[cfg_attr($is_profiled, gpu_profile(name = "random/both", stream = [x, y]))]
            pub(super) fn both(
                run: &'static Run,
                lanes: &[Lane],
                steps: &'static [Step],
                _first: Note,
                x: &Arc<CudaStream>,
                y: &Arc<CudaStream>,
                _last: Note,
            ) {
                let _ = (x, y);
                let _local = run.note();
                let _span = run.enter("both", lanes);
                run.execute(steps);
            }

            #[cfg_attr($is_profiled, gpu_profile(name = "random/inherits"))]
            pub(super) fn inherits(
                run: &'static Run,
                steps: &'static [Step],
                _first: Note,
                _last: Note,
            ) {
                let _local = run.note();
                let _span = run.enter("inherits", &Run::inherited());
                run.execute(steps);
            }

            #[cfg_attr($is_profiled, gpu_profile(name = "random/cpu", cpu))]
            pub(super) fn cpu(
                run: &'static Run,
                steps: &'static [Step],
                _first: Note,
                _last: Note,
            ) {
                let _local = run.note();
                let _span = run.enter("cpu", &[]);
                run.execute(steps);
            }

            #[cfg_attr($is_profiled, gpu_profile(name = "random/on_async"))]
            pub(super) async fn on_async(
                run: &'static Run,
                lane: Lane,
                steps: &'static [Step],
                _first: Note,
                _stream: &Arc<CudaStream>,
                _last: Note,
            ) {
                let _local = run.note();
                run.polled("on_async", &[lane], steps).await;
            }

            #[cfg_attr($is_profiled, gpu_profile(name = "random/other_async"))]
            pub(super) async fn other_async(
                run: &'static Run,
                lane: Lane,
                steps: &'static [Step],
                _first: Note,
                _stream: Arc<CudaStream>,
                _last: Note,
            ) {
                let _local = run.note();
                run.polled("other_async", &[lane], steps).await;
            }

            #[cfg_attr(
                        $is_profiled,
                        gpu_profile(name = "random/both_async", stream = [streams[0], streams[1]])
                    )]
            pub(super) async fn both_async(
                run: &'static Run,
                lanes: [Lane; 2],
                steps: &'static [Step],
                _first: Note,
                streams: [Arc<CudaStream>; 2],
                _last: Note,
            ) {
                let _ = &streams;
                let _local = run.note();
                run.polled("both_async", &lanes, steps).await;
            }

            #[cfg_attr($is_profiled, gpu_profile(name = "random/inherits_async"))]
            pub(super) async fn inherits_async(
                run: &'static Run,
                steps: &'static [Step],
                _first: Note,
                _last: Note,
            ) {
                let _local = run.note();
                run.polled("inherits_async", &Run::inherited(), steps).await;
            }

            #[cfg_attr($is_profiled, gpu_profile(name = "random/cpu_async", cpu))]
            pub(super) async fn cpu_async(
                run: &'static Run,
                steps: &'static [Step],
                _first: Note,
                _last: Note,
            ) {
                let _local = run.note();
                run.polled("cpu_async", &[], steps).await;
            }
        }
    };
}

functions!(Annotated, annotated, all());
functions!(Plain, plain, any());
