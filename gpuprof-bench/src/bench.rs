//! A benchmark: what it runs, and what is stated of it.

use std::fmt::Display;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream};
use gpuprof_report::profile::{Device, Parameter, Precision};
use gpuprof_runtime::bench_support;

use crate::clocks::DeviceClocks;
use crate::closure_return::ClosureReturn;
use crate::error::{BenchError, WithPurpose};
use crate::measure::{CannotRun, Measuring, Rounds};
use crate::measurement::{CallMode, Results};
use crate::sampler::{BenchmarkedCall, Sampler};
use crate::stopping::StoppingRule;

/// Begins a benchmark of this name.
///
/// ```no_run
/// # use cudarc::driver::{CudaStream, DriverError};
/// # use gpuprof_bench::BenchError;
/// # fn example(stream: std::sync::Arc<CudaStream>) -> Result<(), BenchError> {
/// # let n: u64 = 1 << 20;
/// # fn saxpy(_: &CudaStream) -> Result<(), DriverError> { Ok(()) }
/// let results = gpuprof_bench::bench("saxpy")
///     .stream(&stream)
///     .bytes(12 * n)
///     .flops(2 * n)
///     .run(|| saxpy(&stream))?;
/// println!("{results}");
/// # Ok(())
/// # }
/// ```
pub fn bench(name: impl Into<String>) -> Bench {
    let name = name.into();
    Bench {
        group: name.clone(),
        name,
        parameters: Vec::new(),
        context: None,
        tries: false,
        stream: None,
        modes: vec![CallMode::Cold, CallMode::Hot],
        rule: StoppingRule::default(),
        bytes: None,
        flops: None,
        precision: None,
        items: None,
    }
}

/// A benchmark that has not run yet; see [`bench()`].
#[derive(Clone, Debug)]
#[must_use]
pub struct Bench {
    name: String,
    group: String,
    parameters: Vec<Parameter>,
    /// The device that a harness chose.
    context: Option<Arc<CudaContext>>,
    /// It runs once and is not measured.
    tries: bool,
    stream: Option<Arc<CudaStream>>,
    pub(crate) modes: Vec<CallMode>,
    rule: StoppingRule,
    bytes: Option<u64>,
    flops: Option<u64>,
    precision: Option<Precision>,
    items: Option<u64>,
}

impl Bench {
    /// As a harness begins it: by its name, that without parameters, and these.
    pub(crate) fn set_case(&mut self, name: &str, group: &str, parameters: &[Parameter]) {
        name.clone_into(&mut self.name);
        group.clone_into(&mut self.group);
        self.parameters = parameters.to_vec();
    }

    pub(crate) fn set_context(&mut self, context: &Arc<CudaContext>, tries: bool) {
        self.context = Some(Arc::clone(context));
        self.tries = tries;
    }

    /// The stream of this thread on the device that the program's arguments choose, and the
    /// benchmark's stream from now on. cudarc uses it without events of its own, and it can be
    /// captured.
    ///
    /// # Errors
    /// The benchmark was not begun by a harness and the first device cannot be used.
    pub fn own_stream(&mut self) -> Result<Arc<CudaStream>, BenchError> {
        let context = match &self.context {
            Some(context) => Arc::clone(context),
            None => CudaContext::new(0).to("use device 0")?,
        };
        let stream = context.per_thread_stream();
        self.stream = Some(Arc::clone(&stream));
        Ok(stream)
    }

    /// Whether the benchmark's device is the simulated one, whose times are modelled.
    ///
    /// # Errors
    /// The device cannot be used.
    pub fn is_simulated(&mut self) -> Result<bool, BenchError> {
        let stream = self.own_stream()?;
        Ok(device_of(stream.context()).simulated)
    }

    /// Results without a measurement, for this reason.
    #[must_use]
    pub fn skip(&self, why: impl Into<String>) -> Results {
        let why = why.into();
        let mut results = self.results(Device::default());
        let skipped = self.modes.iter().map(|&mode| (mode, why.clone()));
        results.not_measured = skipped.collect();
        results
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether it runs once and is not measured.
    pub(crate) fn tries(&self) -> bool {
        self.tries
    }

    pub(crate) fn results(&self, device: Device) -> Results {
        let mut results = Results::new(&self.name, device);
        results.group.clone_from(&self.group);
        results.parameters.clone_from(&self.parameters);
        results
    }

    /// A parameter of a sweep, such as a size, which the results name.
    pub fn parameter(mut self, name: &str, value: impl Display) -> Self {
        let value = value.to_string();
        self.name.push_str(&format!(" {name}={value}"));
        self.parameters.push(Parameter::new(name, &value));
        self
    }

    /// The stream on which the closure puts its work. Work on other streams is neither held nor
    /// waited for.
    pub fn stream(mut self, stream: &Arc<CudaStream>) -> Self {
        self.stream = Some(Arc::clone(stream));
        self
    }

    /// Bytes that a call moves to or from device memory.
    pub const fn bytes(mut self, bytes: u64) -> Self {
        self.bytes = Some(bytes);
        self
    }

    /// Floating-point operations of a call.
    pub const fn flops(mut self, flops: u64) -> Self {
        self.flops = Some(flops);
        self
    }

    /// What the operations are computed in, for the peak that they are compared with; default:
    /// single precision.
    pub const fn precision(mut self, precision: Precision) -> Self {
        self.precision = Some(precision);
        self
    }

    /// Items that a call processes.
    pub const fn items(mut self, items: u64) -> Self {
        self.items = Some(items);
        self
    }

    /// The modes to measure, in this order; default: cold and hot.
    pub fn modes(mut self, modes: &[CallMode]) -> Self {
        self.modes = modes.to_vec();
        self
    }

    /// When there are enough samples.
    pub const fn rule(mut self, rule: StoppingRule) -> Self {
        self.rule = rule;
        self
    }

    /// Calls the closure until its times are known, in each mode.
    ///
    /// # Errors
    /// There is no stream, a call of CUDA fails, or the closure returns an error.
    pub fn run<R: ClosureReturn>(
        &self,
        mut closure: impl FnMut() -> R,
    ) -> Result<Results, BenchError> {
        let stream = self.usable_stream()?;
        let mut call = || closure().into_result().map_err(BenchError::Call);
        // The first call loads what is loaded late, for longer than a stream is held.
        call()?;
        stream.synchronize().to("wait for the stream")?;
        let mut results = self.results(device_of(stream.context()));
        if self.tries {
            return Ok(results);
        }
        for (mode, measured) in self.measure(&mut [&mut call])? {
            match measured {
                Ok(mut rounds) => results.measurements.append(&mut rounds.measurements),
                Err(CannotRun { why, .. }) => results.not_measured.push((mode, why)),
            }
        }
        Ok(results)
    }

    /// The stream, idle, with its context bound to this thread.
    pub(crate) fn usable_stream(&self) -> Result<&Arc<CudaStream>, BenchError> {
        let stream = self.stream.as_ref().ok_or(BenchError::NoStream)?;
        stream.context().bind_to_thread().to("use the context")?;
        stream.synchronize().to("wait for the stream")?;
        Ok(stream)
    }

    /// Measures the calls in turn in each mode; `Err`: they cannot be run in it, and why.
    pub(crate) fn measure(
        &self,
        calls: &mut [BenchmarkedCall<'_>],
    ) -> Result<Vec<InMode>, BenchError> {
        let stream = self.usable_stream()?;
        let mut sampler = Sampler::new(stream)?;
        let mut measuring = Measuring {
            sampler: &mut sampler,
            clocks: &mut DeviceClocks::open(&device_of(stream.context())),
            rule: self.rule,
        };
        let event_overhead_ns = measuring.event_overhead_ns()?;
        let profiled = profiled_calls();
        let mut all = Vec::with_capacity(self.modes.len());
        for &mode in &self.modes {
            let mut rounds = measuring.run(mode, calls)?;
            for measured in rounds
                .iter_mut()
                .flat_map(|rounds| &mut rounds.measurements)
            {
                measured.set_event_overhead(event_overhead_ns);
                (measured.bytes, measured.flops) = (self.bytes, self.flops);
                (measured.items, measured.precision) = (self.items, self.precision);
            }
            all.push((mode, rounds));
        }
        if profiled_calls() > profiled {
            let note = "gpuprof profiles functions that are called here: its events are a part of \
                        these times (GPUPROF=off leaves them out)";
            let rounds = all.iter_mut().flat_map(|(_, rounds)| rounds);
            let measured = rounds.flat_map(|rounds| &mut rounds.measurements);
            measured.for_each(|measured| measured.notes.push(note.to_owned()));
        }
        Ok(all)
    }
}

/// Calls of profiled functions with a stream so far.
fn profiled_calls() -> u64 {
    let functions = gpuprof_runtime::snapshot().functions;
    let on_gpu = functions.iter().filter(|function| !function.cpu_only);
    on_gpu.map(|function| function.calls).sum()
}

/// What was measured in a mode, or why nothing.
pub(crate) type InMode = (CallMode, Result<Rounds, CannotRun>);

pub(crate) fn device_of(context: &CudaContext) -> Device {
    bench_support::describe(u32::try_from(context.ordinal()).unwrap_or(0))
}
