//! Profiles Rust CUDA programs by attribute: at exit a table says, for each annotated function, how often it ran, how long
//! the GPU and the CPU took, how wide the spread was and what limits it. Under `nsys profile` the same functions appear as
//! NVTX ranges. gpuprof never synchronizes, and a program behaves with it as it does without.
//!
//! ```no_run
//! use cudarc::driver::{CudaContext, CudaFunction, CudaSlice, CudaStream, DriverError, LaunchConfig, PushKernelArg};
//! use gpuprof::gpu_profile;
//! use std::sync::Arc;
//!
//! #[gpu_profile(bytes = 12 * y.len(), flops = 2 * y.len())]
//! fn saxpy(
//!     stream: &Arc<CudaStream>,
//!     kernel: &CudaFunction,
//!     a: f32,
//!     x: &CudaSlice<f32>,
//!     y: &mut CudaSlice<f32>,
//! ) -> Result<(), DriverError> {
//!     let n = y.len() as u32;
//!     let mut launch = stream.launch_builder(kernel);
//!     launch.arg(&n).arg(&a).arg(x).arg(y);
//!     // SAFETY: these are the kernel's parameters, and both slices hold n elements.
//!     unsafe { launch.launch(LaunchConfig::for_num_elems(n)) }?;
//!     Ok(())
//! }
//! # fn example(kernel: CudaFunction, x: CudaSlice<f32>, mut y: CudaSlice<f32>) -> Result<(), DriverError> {
//! # let stream = CudaContext::new(0)?.default_stream();
//! saxpy(&stream, &kernel, 2.0, &x, &mut y)?; // nothing else: the table comes at exit, on standard error
//! # Ok(())
//! # }
//! ```
//!
//! # Where to go from here
//!
//! - [`gpu_profile`]: the attribute, all its arguments, and how it finds the stream.
//! - [`scope!`]: the same for part of a function. [`with_stream`]: a stream for functions whose arguments carry none.
//! - [`Graph`]: a captured graph whose replays count as calls of what is in it.
//! - [`HasStream`]: teaches the attribute your own types.
//! - [`snapshot`], [`collect`], [`reset`], [`Session`]: the numbers inside the program, as [`Profile`].
//! - [`step`], [`Schedule`], [`on_profile_ready`]: some steps of a long run instead of all of it.
//! - `docs/reading-the-table.md` in the repository: what each number means and when not to trust it.
//!
//! # Kernels inside functions
//!
//! With `GPUPROF_CUPTI=on` the report also says what ran inside the spans: kernels, copies and CUDA
//! calls of the program as nvprof listed them, the kernels under each function, and findings. A function then has three
//! times, each with a meaning of its own:
//!
//! ```text
//!            entry                   return
//! CPU        ├──a────────────────b────────┤
//!            ╰───────── CPU time ─────────╯
//!
//! stream       ┊    ████ a ████         ██████████ b ███████████┊
//!              ╰─────────────────── GPU span ───────────────────╯
//!                   ╰─ busy ──╯         ╰──────── busy ────────╯
//!              ╰───╯           ╰ idle ─╯
//! ```
//!
//! - CPU time: from entry to return on the host.
//! - GPU span: from an event on the function's stream at entry to one at its return. Gaps are in it.
//! - GPU busy: the time in which at least one kernel, copy or memset of the function, or of a function inside, was running.
//!
//! It needs libcupti (from the CUDA toolkit, or `pip install nvidia-cuda-cupti`) and makes launches slower. Where it cannot be
//! had (not found, too old, another profiler such as nsys or ncu has it), the report says so in one line and is as without.
//! A kernel belongs to the innermost annotated function around its launch on the launching thread: those of a graph to the
//! function around the graph's launch, and those of libraries that launch from a thread of their own, as burn and cubecl do,
//! to none; these are summed as outside any profiled function. In the [`Profile`] all of it is in [`profile::GpuActivity`],
//! [`profile::KernelStats`], [`profile::CopyStats`], [`profile::ApiStats`] and [`profile::Finding`].
//!
//! # Cargo features
//!
//! | feature | default | meaning |
//! |---|---|---|
//! | `enable` | yes | Measure. Without it the attribute checks its arguments and returns the function untouched, everything else is there and does nothing, and neither cudarc nor nvtx is built. A library depends with `default-features = false` and leaves the choice to the final program. |
//! | `nvtx` | yes | Ranges for Nsight Systems, through NVIDIA's `nvtx` crate. Needs libclang to build. Switches `enable` on. |
//! | `cupti` | no | Demangled kernel names and GPU clocks (NVML) with `GPUPROF_CUPTI=on`. Needs nothing to build. Switches `enable` on. |
//!
//! # Environment
//!
//! | variable | values, the default first |
//! |---|---|
//! | `GPUPROF` | `on`, `nvtx` (ranges only), `off` |
//! | `GPUPROF_REPORT` | `table`; a comma list of `table`, `tree`, `json=PATH`; or `none`. PATH takes `{pid}`, `{rank}`, `{exe}` |
//! | `GPUPROF_SORT` | `gpu`, `cpu`, `calls`, `max`, `name` |
//! | `GPUPROF_LIMIT` | `30` rows; `0` for all |
//! | `GPUPROF_FILTER` | a regular expression on names; what does not match costs nothing |
//! | `GPUPROF_SAMPLE` | `1`; GPU-time one call in so many, at random |
//! | `GPUPROF_SCHEDULE` | off; `wait,warmup,active[,repeat]` in steps of [`step`]: see [`Schedule`] |
//! | `GPUPROF_EXIT_WAIT` | `2s`: the longest that exit waits for queued GPU work |
//! | `GPUPROF_SIGNALS` | `off`; `on`: SIGINT and SIGTERM print the report first |
//! | `GPUPROF_CUPTI` | `off`; `on`: kernels inside functions |
//! | `GPUPROF_CUPTI_LIBRARY` | a search in the usual places; the path of the libcupti to use |
//! | `GPUPROF_CHECKPOINT` | `off`; seconds between rewrites of the JSON file |
//!
//! A wrong value is one line on standard error and the default.

#[cfg(not(feature = "enable"))]
mod disabled;
mod scope;

#[cfg(not(feature = "enable"))]
use disabled as implementation;
#[cfg(feature = "enable")]
use gpuprof_runtime as implementation;

pub use gpuprof_report::profile::{self, Profile};
pub use gpuprof_report::schedule::Schedule;
pub use gpuprof_report::settings::{Mode, Output, Sampling, SessionError, Sort};
pub use implementation::{
    Graph, HasStream, Session, SessionBuilder, StreamRef, collect, on_profile_ready, reset,
    snapshot, step, with_stream,
};

/// Profiles a function, or every function of an inline `mod` or an `impl` block.
///
/// It goes on functions, methods (inherent, in trait impls, default ones), `async fn`, `unsafe fn`, `extern "C"`, generic
/// functions and functions that return `impl Trait`. Early returns, `?`, panics and cancelled futures end the span as well.
///
/// # Arguments
///
/// | argument | meaning |
/// |---|---|
/// | `name = "conv/forward"` | the name shown; otherwise the path, `module::Type::function` or `<Type as Trait>::function` |
/// | `stream = EXPR` | the stream of the function's work, anything that implements [`HasStream`]; `[a, b]` for several |
/// | `cpu` | no GPU timing |
/// | `graph` | captured into a CUDA graph, it is timed at every replay; launch that through [`Graph`] |
/// | `bytes = EXPR`, `flops = EXPR`, `items = EXPR` | the work of one call, for GB/s, TFLOP/s, items/s and % of peak |
/// | `payload = EXPR` | NVTX payload, an integer or a floating-point number |
/// | `color = 0x76B900`, `category = "forward"` | NVTX colour (red, green, blue) and category |
/// | `sample = N` | GPU-time one call in N, at random; counts stay exact |
/// | `skip` | inside an annotated `mod` or `impl`: leave this function or block alone |
/// | `crate = path` | where gpuprof lives, for programs that re-export or rename it |
///
/// Expressions see the function's parameters. They are evaluated when the function is entered, and only when their value is
/// used: not when gpuprof is off or the name is filtered out. They cannot use `?`, `return` or `.await`.
///
/// # Which stream
///
/// 1. `stream = …`.
/// 2. The first parameter, `self` included, whose type has a stream: `CudaStream`, `CudaSlice`, `CudaView`, `CudaViewMut`,
///    references and smart pointers to these, your own types with [`HasStream`], and generic parameters bound by it.
///    What a pattern binds counts as well: `(a, b): (u32, &CudaSlice<f32>)`.
/// 3. The stream of the enclosing span, or of [`with_stream`].
/// 4. None: the function gets CPU time alone, and the report says how to mend that.
///
/// # Blocks
///
/// On an inline `mod` or an `impl` block the arguments `stream`, `cpu`, `graph`, `sample`, `color`, `category` and `crate` hold for
/// every function in it, nested modules, `impl` blocks and default methods of traits included. Left alone are `const fn`,
/// `extern` declarations, functions that macros make, and whatever has a `#[gpu_profile(…)]` of its own. Functions without
/// `self` do not take over a `stream` that mentions `self`. A `crate` path must hold in nested modules too, so begin it with
/// `crate::` or `::`. A module in a file of its own (`mod name;`) can neither be annotated nor stand in such a block:
/// the compiler hands attributes no files.
///
/// ```
/// # use gpuprof::gpu_profile;
/// # struct Net;
/// #[gpu_profile(category = "net")]
/// impl Net {
///     fn forward(&self) {}
///
///     #[gpu_profile(name = "net/backward", items = 3)]
///     fn backward(&self) {}
///
///     #[gpu_profile(skip)]
///     fn called_a_million_times(&self) {}
/// }
/// ```
///
/// # Asynchronous functions
///
/// CPU time is the time that polls take. The body of an `async fn` is watched from its first poll. A plain function whose
/// last expression is `Box::pin(async move { … })`, which is what `async_trait` makes, or `async move { … }` under
/// `-> impl Future`, is watched through that future too; its span begins when the function is called.
///
/// # Graphs
///
/// While its stream is being captured a function does not run, so there is nothing to time: the call is counted as captured,
/// and leaves nothing in the graph. Marked `graph`, it records two events into the graph instead, and a graph launched through
/// [`Graph`] times it at every replay. The row then counts replays, not captures. Outside a capture such a function is like
/// any other. An asynchronous function, or one on several streams, cannot be marked.
///
/// # Limits
///
/// A bare `const fn` cannot be profiled. On a `trait` the attribute goes on the methods that have a body.
pub use gpuprof_macros::gpu_profile;

/// What generated code names. No part of the public interface.
#[cfg(feature = "enable")]
#[doc(hidden)]
pub use gpuprof_runtime::macro_support as __private;

/// Compiles the program that the README shows.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[doc(hidden)]
pub use scope::__scope_name;
