//! The loops of the cost check: several methods of launching, in turn, on several threads.

use std::sync::Arc;
use std::thread;
use std::time::Instant;

use cudarc::driver::CudaStream;
use gpuprof::{Profile, gpu_profile};

use super::barrier::Gate;
use crate::hand_timed::{self, Answer, Kernel, Pair};
use crate::session::every_call;

/// What each call of a block does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    /// A launch in an annotated function.
    Attribute,
    /// A launch between two event records by hand.
    ByHand,
    /// The launch alone.
    Bare,
    /// An annotated function that launches nothing.
    Empty,
    /// Two event records by hand and nothing else.
    EmptyByHand,
}

const METHODS: [Method; 5] = [
    Method::Attribute,
    Method::ByHand,
    Method::Bare,
    Method::Empty,
    Method::EmptyByHand,
];

impl Method {
    pub(super) fn name(self) -> &'static str {
        match self {
            Method::Attribute => "by the attribute",
            Method::ByHand => "by hand",
            Method::Bare => "the launch alone",
            Method::Empty => "empty function",
            Method::EmptyByHand => "two records",
        }
    }
}

#[gpu_profile]
fn annotated(stream: &Arc<CudaStream>, kernel: &Kernel) -> Answer {
    kernel.launch(stream)
}

#[gpu_profile]
fn empty(stream: &Arc<CudaStream>) -> Answer {
    let _ = std::hint::black_box(stream);
    Ok(())
}

fn by_hand(stream: &Arc<CudaStream>, kernel: &Kernel, pair: Pair) -> Answer {
    pair.start(stream)?;
    kernel.launch(stream)?;
    pair.end(stream)
}

fn empty_by_hand(stream: &Arc<CudaStream>, pair: Pair) -> Answer {
    pair.start(stream)?;
    pair.end(stream)
}

/// The number of threads and of calls.
pub(super) struct Plan {
    pub(super) threads: usize,
    /// One stream for all threads instead of one each.
    pub(super) shared: bool,
    /// Turns per method.
    series: usize,
    /// Consecutive blocks per turn: gpuprof's resolver then reads the events of a block while the
    /// next one runs, as in a program.
    blocks: usize,
    /// Calls per block; with their records at most about half of a queue.
    calls: usize,
}

impl Plan {
    pub(super) fn new(threads: usize, shared: bool, short: bool) -> Plan {
        let calls = match (threads, shared) {
            (8.., true) => 25,
            // Streams share the eight queues of a context.
            (8.., false) => 100,
            _ => 200,
        };
        let [series, blocks] = if short { [2, 1] } else { [15, 8] };
        Plan {
            threads,
            shared,
            series,
            blocks,
            calls: if short { 10 } else { calls },
        }
    }

    pub(super) fn name(&self) -> String {
        match (self.threads, self.shared) {
            (1, _) => "1 thread".into(),
            (threads, false) => format!("{threads} threads"),
            (threads, true) => format!("{threads} threads on one stream"),
        }
    }

    /// Runs all calls in a session of their own.
    pub(super) fn measure(&self) -> Result<Measured, String> {
        let text = |error| format!("{}: {error}", self.name());
        let first = hand_timed::stream().map_err(text)?;
        let context = Arc::clone(first.context());
        let streams: Answer<Vec<_>> = (0..self.threads)
            .map(|_| {
                if self.shared {
                    Ok(Arc::clone(&first))
                } else {
                    context.new_stream()
                }
            })
            .collect();
        let streams = streams.map_err(text)?;
        // The shortest possible kernel: its duration must not matter.
        let kernel = Kernel::spin(0).map_err(text)?;
        let session = every_call().start().map_err(|error| error.to_string())?;
        let gate = Gate::new(self.threads);
        let ended: Vec<Answer<Vec<Vec<f64>>>> = thread::scope(|scope| {
            let spawned = |(index, stream)| {
                let (kernel, gate) = (&kernel, &gate);
                scope.spawn(move || self.thread(index == 0, stream, kernel, gate))
            };
            let threads: Vec<_> = streams.iter().enumerate().map(spawned).collect();
            let joined = threads.into_iter().map(|thread| thread.join());
            joined
                .map(|ended| ended.expect("a thread does not panic"))
                .collect()
        });
        let profile = session.finish();
        let threads = ended.into_iter().collect::<Answer<Vec<_>>>();
        let threads = threads.map_err(text)?;
        Ok(Measured::new(&threads, profile))
    }

    /// Runs one thread's turns. Returns ns per call by method and turn. A thread that failed still
    /// reaches every barrier.
    fn thread(
        &self,
        leads: bool,
        stream: &Arc<CudaStream>,
        kernel: &Kernel,
        gate: &Gate,
    ) -> Answer<Vec<Vec<f64>>> {
        let context = stream.context();
        let mut ready = context
            .bind_to_thread()
            .and_then(|()| Pair::ring(self.calls));
        let mut found = vec![Vec::new(); METHODS.len()];
        // The first turn of each method creates events and loads code.
        for turn in 0..=self.series {
            for index in 0..METHODS.len() {
                let index = (index + turn) % METHODS.len();
                let mut ns = 0.0;
                for _ in 0..self.blocks {
                    gate.pass();
                    if let Ok(ring) = &ready {
                        match block(METHODS[index], stream, kernel, ring) {
                            Ok(took) => ns += took,
                            Err(error) => ready = Err(error),
                        }
                    }
                }
                if turn > 0 {
                    found[index].push(ns / (self.blocks * self.calls) as f64);
                }
                gate.pass();
                if leads {
                    // Pending reads by gpuprof must not fall into the time of the next method.
                    let _ = gpuprof::collect();
                }
            }
            if leads && turn == 0 {
                gpuprof::reset();
            }
            gate.pass();
        }
        ready.map(|_| found)
    }
}

/// One call per event pair. Returns the total time in ns. The GPU is idle afterwards.
fn block(method: Method, stream: &Arc<CudaStream>, kernel: &Kernel, ring: &[Pair]) -> Answer<f64> {
    let began = Instant::now();
    for pair in ring {
        match method {
            Method::Attribute => annotated(stream, kernel)?,
            Method::ByHand => by_hand(stream, kernel, *pair)?,
            Method::Bare => kernel.launch(stream)?,
            Method::Empty => empty(stream)?,
            Method::EmptyByHand => empty_by_hand(stream, *pair)?,
        }
    }
    let took = began.elapsed().as_nanos() as f64;
    stream.synchronize()?;
    Ok(took)
}

/// The results: ns per call by method and turn, averaged over all threads.
pub(super) struct Measured {
    methods: Vec<Vec<f64>>,
    pub(super) profile: Profile,
}

impl Measured {
    fn new(threads: &[Vec<Vec<f64>>], profile: Profile) -> Measured {
        let mean = |method: usize, turn: usize| {
            let sum: f64 = threads.iter().map(|thread| thread[method][turn]).sum();
            sum / threads.len() as f64
        };
        let turns = |method: usize| threads.first().map_or(0, |thread| thread[method].len());
        let methods = (0..METHODS.len())
            .map(|method| (0..turns(method)).map(|turn| mean(method, turn)).collect());
        Measured {
            methods: methods.collect(),
            profile,
        }
    }

    /// All turns of one method.
    pub(super) fn of(&self, method: Method) -> &[f64] {
        let index = METHODS.iter().position(|known| *known == method);
        index.map_or(&[], |index| &self.methods[index])
    }

    /// Compares two methods turn by turn: adjacent turns see the same disturbances.
    pub(super) fn together(&self, a: Method, b: Method, with: fn(f64, f64) -> f64) -> Vec<f64> {
        let turns = self.of(a).iter().zip(self.of(b));
        turns.map(|(a, b)| with(*a, *b)).collect()
    }
}
