//! Profiles Rust CUDA programs by attribute. At exit a table shows, for each annotated function,
//! how often it ran, how long the GPU and the CPU took, how wide the spread was, and what limits
//! it. Under `nsys profile` the same functions are NVTX ranges. gpuprof never synchronizes, and a
//! program behaves with it as it does without.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use cudarc::driver::{CudaContext, CudaFunction, CudaSlice, CudaStream, DriverError};
//! use cudarc::driver::{LaunchConfig, PushKernelArg};
//! use gpuprof::gpu_profile;
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
//! # fn example(
//! #     kernel: CudaFunction,
//! #     x: CudaSlice<f32>,
//! #     mut y: CudaSlice<f32>,
//! # ) -> Result<(), DriverError> {
//! # let stream = CudaContext::new(0)?.default_stream();
//!
//! // Nothing else is needed: the table is written to standard error at exit.
//! saxpy(&stream, &kernel, 2.0, &x, &mut y)?;
//! # Ok(())
//! # }
//! ```
//!
//! # Where to read on
//!
//! - [`gpu_profile`]: the attribute, its arguments, and how it finds the stream.
//! - [`scope!`]: the same for a part of a function. [`with_stream`]: a stream for functions whose
//!   arguments carry none; [`set_default_stream`]: the same for the whole program.
//! - [`HasStream`]: makes the attribute find the stream in your own types.
//! - [`snapshot`], [`collect`], [`reset`], [`Session`]: the numbers inside the program, as
//!   [`Profile`].
//! - [`set_recording`], [`collect_trace`]: the [time line](trace) of a part of the program.
//! - [`step`]: the times of the program's steps, such as training steps or batches.
//! - [`on_diagnostic`]: what gpuprof says about itself, for the log of a service.
//! - `docs/` in the repository: reading the report, sampling, limits, cost.
//!
//! # Kernels inside functions
//!
//! With `GPUPROF_CUPTI=on` the report also shows the kernels, copies and CUDA calls inside the
//! spans, the kernels below each function, and findings. A function then has three times:
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
//! - GPU span: from an event on the function's stream at entry to one at its return, gaps included.
//! - GPU busy: the time in which at least one kernel, copy or memset of the function, or of a
//!   function nested in it, was running.
//!
//! This needs libcupti, from the CUDA toolkit or by `pip install nvidia-cuda-cupti`, and makes
//! launches slower. If libcupti is unavailable (not found, too old, in use by another profiler such
//! as nsys or ncu), the report says so in one line and contains no CUPTI sections.
//!
//! A kernel belongs to the innermost annotated function around its launch on the launching thread.
//! The kernels of a replayed graph belong to the functions that captured them, and to the function
//! around the graph's launch if those are unknown. Kernels that a library launches from its own
//! thread, as burn and cubecl do, belong to no function and are summed as unattributed. In the
//! [`Profile`] these data are [`profile::GpuActivity`],
//! [`profile::KernelStats`], [`profile::CopyStats`], [`profile::ApiStats`] and
//! [`profile::Finding`].
//!
//! # Cargo features
//!
//! - `enable` (default): measure. Without it the attribute checks its arguments and returns the
//!   function untouched, the whole interface is present as no-ops, and neither cudarc nor nvtx is
//!   built. A library depends with `default-features = false` and leaves the choice to the final
//!   program.
//! - `nvtx` (default): ranges for Nsight Systems, through NVIDIA's crate `nvtx`, which needs
//!   libclang to build. Implies `enable`.
//! - `cupti`: demangled kernel names and launch lines with `GPUPROF_CUPTI=on`. Implies `enable`.
//! - `bench`: benchmarks, in the module `bench`. Implies `enable`.
//! - `trace`, `html`, `pprof`: the outputs `trace=PATH`, a time line, `html=PATH`, the report as
//!   one web page, and `pprof=PATH`, times by call path for pprof. Imply `enable`.
//! - `tracing`: spans of `tracing` as functions, in the module `tracing`. Implies `enable`.
//! - `metrics`: metrics for Prometheus: module `metrics`, `GPUPROF_METRICS`. Implies `enable`.
//! - `serde`: `Serialize` and `Deserialize` for [`Profile`] and all that it consists of, and
//!   reading of JSON profiles in [`json`]. Writing them needs no feature.
//!
//! # Settings
//!
//! Every setting is an environment variable, and most are also a method of [`SessionBuilder`]. A
//! wrong value gives one line on standard error, which lists what is accepted, and the default
//! applies.
//!
//! - `GPUPROF`: measure; measure while a viewer looks; emit NVTX ranges only; do nothing. Takes on,
//!   standby, nvtx or off; default: `on`.
//! - `GPUPROF_REPORT`: what is written at exit (outputs); PATH takes `{pid}`, `{rank}` and `{exe}`.
//!   Takes none, or a comma list of table, `table:full`, `json=PATH`, `csv=PATH`, `folded=PATH`,
//!   `folded:cpu=PATH`, `pprof=PATH`, `html=PATH` and `trace=PATH`; default: `table`.
//! - `GPUPROF_SORT`: the order of the rows. Takes gpu, cpu, calls, max or name; default: `gpu`.
//! - `GPUPROF_LIMIT`: how many rows the call tree shows; the others are summed. Other tables show a
//!   third of it. Takes a number of rows, 0 for all; default: `30`.
//! - `GPUPROF_FILTER`: only functions whose name matches are measured; the others cost what
//!   GPUPROF=off does. Takes a regular expression; default: all functions.
//! - `GPUPROF_SAMPLE`: which calls are timed on the GPU: as many as the budget pays for, or one in
//!   N at random, and 1 for all (sampling). Takes `auto:P%` with a budget of P percent of the
//!   program's time, auto for `auto:1%`, or a whole number N from 1, for 1 call in N; default:
//!   `auto:1%`.
//! - `GPUPROF_TRACE_LIMIT`: how many events the time line of `trace=PATH` keeps, the newest; an
//!   event takes 16 to 40 bytes. Takes a number of events from 1; default: `1000000`.
//! - `GPUPROF_FROM_START`: measure from the start, or with off from each cudaProfilerStart to the
//!   next cudaProfilerStop of the program; off switches `GPUPROF_CUPTI` on. Takes on or off;
//!   default: `on`.
//! - `GPUPROF_DELAY`: how long after CUDA is initialized measuring begins, or after the first
//!   profiled call of a program with gpuprof. Takes a duration such as 500ms or 2s; default: none.
//! - `GPUPROF_FOR`: how long the program is measured; it goes on, and is reported at its end. Takes
//!   a duration such as 500ms or 2s; default: to the end.
//! - `GPUPROF_EXIT_WAIT`: how long exit waits, at most, for pending GPU work. Takes a duration such
//!   as 500ms or 2s; default: `2s`.
//! - `GPUPROF_SIGNALS`: on SIGINT and SIGTERM, write the report before the process ends. Takes off
//!   or on; default: `off`.
//! - `GPUPROF_CHECKPOINT`: the interval at which the JSON files are rewritten. Takes a number of
//!   seconds from 0.01, such as 10, or off; default: `off`.
//! - `GPUPROF_CUPTI`: record kernels inside functions; full adds allocations, frees and look-ups of
//!   kernels to the API calls. Takes off, on or full; default: `off`.
//! - `GPUPROF_CUPTI_LIBRARY`: which libcupti to open. Takes a path; default: a search in the usual
//!   places.
//! - `GPUPROF_COUNTERS`: sample the hardware counters of the GPU: the listed metrics, and gpuprof's
//!   own (bandwidth, units, caches, tensor cores, links) per function and kernel; switches
//!   GPUPROF_CUPTI on. Takes off, on, or a comma list of at most 8 metrics of CUPTI such as
//!   `lts__t_sectors.sum`; default: `off`.
//! - `GPUPROF_STACKS`: report from which source lines kernels are launched, above all those outside
//!   any profiled function; switches GPUPROF_CUPTI on. Takes off or on; default: `off`.
//! - `GPUPROF_STALLS`: sample for what the warps of each kernel wait, and at which source lines;
//!   switches GPUPROF_CUPTI on. Takes off or on; default: `off`.
//! - `GPUPROF_MEMORY`: record which function allocates and frees device and pinned memory, the
//!   peak, and what is live at exit; switches GPUPROF_CUPTI on. Takes off or on; default: `off`.
//! - `GPUPROF_META`: facts about the run that its JSON holds and `gpuprof diff` compares; an empty
//!   VALUE removes args or commit. Takes `KEY=VALUE,KEY=VALUE`, at most 32 pairs; default: args,
//!   and commit in CI.
//! - `GPUPROF_METRICS`: with the feature metrics, serve metrics for Prometheus on ADDRESS, and
//!   write them into the text file PATH at exit and at each checkpoint; both take `{pid}` and
//!   `{rank}`. Takes off, or a comma list of `listen=ADDRESS` and `prometheus=PATH`; ADDRESS is a
//!   port of 127.0.0.1, `IP:PORT` or `localhost:PORT`; default: `off`.
//! - `GPUPROF_LIVE`: let gpuprof top, snapshot and trace connect. Takes off or on; default: `off`.
//! - `GPUPROF_TRACING`: with the feature tracing and its layer, which spans of tracing are
//!   measured. Takes `TARGET=LEVEL,TARGET=LEVEL`, and LEVEL for all other targets; default:
//!   `info,candle=trace`.

#[cfg(not(feature = "enable"))]
mod disabled;
mod scope;

#[cfg(not(feature = "enable"))]
use disabled as implementation;
#[cfg(feature = "enable")]
use gpuprof_runtime as implementation;

#[cfg(feature = "bench")]
pub use gpuprof_bench::{self as bench, bench};
/// Registers a function as a benchmark, which the main function of a benchmark target,
/// [`bench::main`], finds.
///
/// The function takes a [`bench::Bench`] and returns its [`bench::Results`], or a `Result` of them.
/// Each further parameter takes the values that the attribute lists, `n = [1 << 20, 1 << 24]`;
/// `args = […]` is short for the only one. `types = [f32, f64]` runs a function with one type
/// parameter for each, and `name = "…"` names it. There is a benchmark for each combination.
///
/// ```no_run
/// use gpuprof::bench::{Bench, BenchError, Results};
/// use gpuprof::gpu_bench;
///
/// #[gpu_bench(n = [1 << 20, 1 << 24])]
/// fn zeros(mut bench: Bench, n: usize) -> Result<Results, BenchError> {
///     let stream = bench.own_stream()?;
///     bench.bytes(n as u64).run(|| stream.alloc_zeros::<u8>(n))
/// }
///
/// fn main() -> std::process::ExitCode {
///     gpuprof::bench::main()
/// }
/// ```
#[cfg(feature = "bench")]
pub use gpuprof_macros::gpu_bench;
pub use gpuprof_report::diagnostic::{Diagnostic, Severity};
pub use gpuprof_report::profile::{self, Profile};
pub use gpuprof_report::setting_values::{
    Counters, CuptiMode, Mode, Output, Sampling, SessionError, WrongCounters,
};
pub use gpuprof_report::{csv, folded, json, trace};
#[cfg(feature = "metrics")]
pub use gpuprof_runtime::metrics;
#[cfg(feature = "tracing")]
pub use gpuprof_runtime::tracing;
pub use implementation::{
    CurrentSpan, HasStream, Session, SessionBuilder, StreamRef, collect, collect_trace, current,
    on_diagnostic, reset, set_default_stream, set_recording, snapshot, step, with_stream,
};

/// Profiles a function, or every function of an inline `mod` or an `impl` block.
///
/// It goes on functions, methods (inherent, in trait impls, default methods), `async fn`, `unsafe
/// fn`, `extern "C"`, generic functions and functions that return `impl Trait`. Early returns, `?`,
/// panics and cancelled futures end the span like a normal return.
///
/// # Arguments
///
/// | argument | meaning |
/// |---|---|
/// | `name = "conv/forward"` | the name shown; see below |
/// | `stream = EXPR` | the stream of the function's work; `[a, b]` for several |
/// | `cpu` | no GPU timing |
/// | `bytes = EXPR`, `flops = EXPR`, `items = EXPR` | the work of one call, for GB/s and so on |
/// | `precision = f16_tensor` | what `flops` are computed in, see docs/attribute.md |
/// | `label = EXPR` | an integer or a string that tells calls apart; see below |
/// | `args(EXPR, name = EXPR)` | values that the time line shows with each call; see below |
/// | `payload = EXPR` | NVTX payload, an integer or a float |
/// | `color = 0x76B900`, `category = "forward"` | NVTX colour (red, green, blue) and category |
/// | `sample = N` | times 1 call in N on the GPU, chosen at random; counts stay exact |
/// | `skip` | inside an annotated `mod` or `impl`: do not profile this function or block |
/// | `crate = path` | the path of gpuprof, for programs that re-export or rename it |
///
/// Without `name` the path is shown: `module::Type::function` or `<Type as Trait>::function`.
///
/// `bytes`, `flops` and `items` take a number that is not negative. Their rates are over GPU time;
/// for a function marked `cpu`, over CPU time. In these expressions `+`, `-`, `*` and parentheses
/// are computed in `f64`, each operand converted by itself, so that `flops = 2 * m * n * k` of
/// `u32` does not overflow. An operand itself, such as `4 * n / 2` or `rows(m * n)`, keeps its
/// type. A negative, infinite or NaN amount is left out of the rate, counted, and reported below
/// the table.
///
/// Expressions see the function's parameters. They are evaluated at entry, and only if their value
/// is used: not if gpuprof is off or the function is filtered out. They cannot use `?`, `return` or
/// `.await`, because they must neither end nor delay the call.
///
/// # Labels
///
/// `label` divides the calls of a function by a value that is known at run time, such as the layers
/// of a model. In the report and in Nsight Systems the calls are named `Block::forward[3]`.
///
/// ```
/// # use gpuprof::gpu_profile;
/// struct Block {
///     index: usize,
/// }
///
/// impl Block {
///     #[gpu_profile(label = self.index)]
///     fn forward(&self) {}
/// }
///
/// fn serve(prompts: &[&str], blocks: &[Block]) {
///     for prompt in prompts {
///         gpuprof::scope!("step", label = if prompt.len() > 1 { "prefill" } else { "decode" });
///         blocks.iter().for_each(Block::forward);
///     }
/// }
/// # serve(&["a prompt"], &[Block { index: 0 }]);
/// ```
///
/// A label is an integer of at most 64 bits or a string, of which the first 256 bytes count. It is
/// borrowed: only the first call with a label copies it, and later ones allocate nothing. A
/// function has at most 256 labels; the calls with further ones are summed as `other labels`, and
/// a line below the table counts them. Percentiles, kernels and the share of the peak are of the
/// whole function.
///
/// # Recorded values
///
/// `args` records values with each call on the [time line](trace), such as the shapes of its
/// arrays. A value is named by its source text or by `name = EXPR`.
///
/// ```
/// # use gpuprof::gpu_profile;
/// # struct Matrix;
/// # impl Matrix {
/// #     fn rows(&self) -> usize { 4 }
/// # }
/// // In the trace: `x.len()` is 3, `batch` is 8, `rows` is 4.
/// #[gpu_profile(args(x.len(), batch, rows = m.rows()))]
/// fn forward(x: &[f32], batch: usize, m: &Matrix) {
///     // …
/// }
/// # forward(&[1.0, 2.0, 3.0], 8, &Matrix);
/// ```
///
/// At most 16 values are recorded, as `Debug` shows them at entry, each up to 200 bytes. They are
/// borrowed, and an expression can neither move nor change a parameter. They are evaluated and
/// formatted only while a time line is recorded, which allocates memory with each call. An async
/// call shows them with its first poll. A panic in a value, in its expression or in `Debug`,
/// reaches the caller; the call is then not counted.
///
/// # Which stream
///
/// 1. `stream = EXPR`, a value with [`HasStream`]. The parameters are then not searched.
/// 2. The first parameter whose type is a stream: `&CudaStream`, `Arc<CudaStream>`, [`StreamRef`];
///    references, smart pointers and `Option`s of these.
/// 3. The first parameter, `self` included, whose type carries a stream: `CudaSlice`, `CudaView`,
///    `CudaViewMut`; your own types with [`HasStream`], and generic parameters bound by it;
///    references, smart pointers and `Option`s of all these. If other parameters carry different
///    streams, a line below the table names the function, as it may use one of those.
/// 4. The stream of the enclosing span, or of [`with_stream`]; if the call is inside neither, that
///    of [`set_default_stream`].
/// 5. None. The function has CPU time only, and the report says how to give it a stream.
///
/// The names that a pattern binds count as parameters: `(a, b): (u32, &CudaSlice<f32>)`. A value
/// that has no stream at present, such as `None`, is passed over.
///
/// Slices, arrays, `Vec`s and tuples of streams are not searched, because the work of a call may go
/// to any of them. Name the stream, or all that the work uses: `stream = streams[0]`,
/// `stream = [streams[0], streams[1]]`, `stream = pair.1`.
///
/// # Blocks
///
/// On an inline `mod` or an `impl` block the arguments `stream`, `cpu`, `sample`, `color`,
/// `category` and `crate` apply to every function in it, including nested modules, `impl` blocks
/// and default methods of traits. Not profiled are `const fn`, `extern` declarations, functions
/// that macros make, and items with a `#[gpu_profile(…)]` of their own, which replaces the block's.
/// A `stream` that mentions `self` does not apply to functions without `self`. A `crate` path must
/// be valid in nested modules too, so begin it with `crate::` or `::`. A module in a file of its
/// own (`mod name;`) can neither be annotated nor be in such a block: attributes see no other file.
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
/// CPU time is the time inside polls. The span of an `async fn` begins at its first poll. A
/// function without `async` is measured in the same way if its last expression is `Box::pin(async
/// move { … })`, which is what `async_trait` writes, or `async move { … }` with the return type
/// `impl Future`; its span begins when the function is called. In the call tree it stays where it
/// began, wherever the future is polled later, and holds the calls of each poll. Their GPU time is
/// nested in it on the streams of the future, and in the span around the poll on any other one.
///
/// An `async fn` becomes a function that returns `impl Future`, as in the compiler's own
/// translation: it is `Send` for the same arguments and drops its parameters in the same order, and
/// its future is larger by some 32 bytes. With return type `!`, with `#[must_use]`, or above
/// another attribute macro it stays an `async fn`, and its future holds the parameters twice.
///
/// # Graphs
///
/// A function's kernels do not run while its stream is being captured. Such a call is counted as
/// captured and adds nothing to the graph. A replay is part of the GPU span of the function around
/// the launch of the graph. With `GPUPROF_CUPTI=on` the replayed kernels are attributed to the
/// functions that captured them.
///
/// # Limits
///
/// A `const fn` cannot be profiled. In a `trait`, the attribute goes on methods that have a body.
pub use gpuprof_macros::gpu_profile;

/// What generated code uses; not public.
#[cfg(feature = "enable")]
#[doc(hidden)]
pub use gpuprof_runtime::macro_support as __private;

/// Compiles the program that the README shows.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[doc(hidden)]
pub use gpuprof_macros::__checked_scope_name;
#[doc(hidden)]
pub use scope::__scope_name;
