//! One sample: calls between two events, on a stream that is held until they are queued.

use std::sync::Arc;
use std::time::Instant;

use cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT;
use cudarc::driver::{CudaEvent, CudaSlice, CudaStream};
use gpuprof_runtime::bench_support;

use crate::error::{BenchError, WithPurpose};
use crate::gate::StreamGate;

/// What is benchmarked.
pub(crate) type BenchmarkedCall<'a> = &'a mut dyn FnMut() -> Result<(), BenchError>;

/// Times of all calls of a sample, ns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimingSample {
    pub(crate) gpu_ns: f64,
    pub(crate) cpu_ns: f64,
    /// No time of the host is in it.
    pub(crate) is_held: bool,
}

/// Takes samples on one stream.
#[derive(Debug)]
pub(crate) struct Sampler {
    stream: Arc<CudaStream>,
    start: CudaEvent,
    end: CudaEvent,
    gate: Option<StreamGate>,
    /// As large as the L2 cache.
    flush: Option<CudaSlice<u8>>,
}

impl Sampler {
    pub(crate) fn new(stream: &Arc<CudaStream>) -> Result<Self, BenchError> {
        let event = || {
            let event = stream.context().new_event(Some(CU_EVENT_DEFAULT));
            event.to("create an event")
        };
        Ok(Self {
            start: event()?,
            end: event()?,
            gate: Some(StreamGate::new(stream)?),
            flush: None,
            stream: Arc::clone(stream),
        })
    }

    pub(crate) fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    /// Whether streams are held.
    pub(crate) fn holds(&self) -> bool {
        self.gate.is_some()
    }

    /// Samples from now on contain the time of the host.
    pub(crate) fn hold_no_more(&mut self) {
        self.gate = None;
    }

    /// Has samples begin with a write of so many bytes, or with none.
    pub(crate) fn set_flush(&mut self, bytes: Option<usize>) -> Result<(), BenchError> {
        self.flush = None;
        if let Some(bytes) = bytes {
            let buffer = self.stream.alloc_zeros::<u8>(bytes);
            self.flush = Some(buffer.to("allocate a buffer of the size of the L2 cache")?);
        }
        Ok(())
    }

    pub(crate) fn sample(
        &mut self,
        call: BenchmarkedCall<'_>,
        calls: u32,
    ) -> Result<TimingSample, BenchError> {
        if let Some(buffer) = &mut self.flush {
            let written = self.stream.memset_zeros(buffer);
            written.to("overwrite the L2 cache")?;
        }
        if let Some(gate) = &mut self.gate {
            gate.close()?;
        }
        let queued = self.queue(call, calls);
        // Also after a failure: what is queued would wait for ever.
        let is_held = self.gate.as_ref().is_some_and(StreamGate::open);
        let cpu_ns = queued?;
        self.end.synchronize().to("wait for the sample")?;
        let gpu_ns = bench_support::elapsed_ns(&self.start, &self.end);
        Ok(TimingSample {
            gpu_ns: gpu_ns.map_err(BenchError::Event)?,
            cpu_ns,
            is_held,
        })
    }

    /// Queues the calls between the events. Returns the time that they took on the CPU, ns.
    fn queue(&mut self, call: BenchmarkedCall<'_>, calls: u32) -> Result<f64, BenchError> {
        let record = "record an event";
        self.start.record(&self.stream).to(record)?;
        let began = Instant::now();
        for _ in 0..calls {
            call()?;
            if let Some(gate) = &self.gate {
                gate.extend();
            }
        }
        let cpu_ns = began.elapsed().as_nanos() as f64;
        self.end.record(&self.stream).to(record)?;
        Ok(cpu_ns)
    }
}
