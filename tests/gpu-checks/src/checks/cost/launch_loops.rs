//! The loops of the cost check: ways to launch, in turn, on several threads.

use std::sync::Arc;
use std::thread;
use std::time::Instant;

use cudarc::driver::{CudaContext, CudaStream};
use gpuprof::{Profile, Session, gpu_profile};

use super::barrier::Gate;
use crate::checks::raw_driver::{self, Answer, Kernel, Pair};

/// What a block of calls consists of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// A launch in an annotated function.
    Attribute,
    /// A launch between two records by hand.
    ByHand,
    /// The launch alone.
    Bare,
    /// An annotated function that launches nothing.
    Empty,
    /// Two records by hand and nothing else.
    EmptyByHand,
}

const WAYS: [Way; 5] = [
    Way::Attribute,
    Way::ByHand,
    Way::Bare,
    Way::Empty,
    Way::EmptyByHand,
];

impl Way {
    pub(super) fn name(self) -> &'static str {
        match self {
            Way::Attribute => "by the attribute",
            Way::ByHand => "by hand",
            Way::Bare => "the launch alone",
            Way::Empty => "empty function",
            Way::EmptyByHand => "two records",
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

/// How many threads, and how much each does.
pub(super) struct Plan {
    pub(super) threads: usize,
    /// All on one stream rather than each on its own.
    pub(super) shared: bool,
    /// Turns of each way.
    series: usize,
    /// Blocks of a turn, one after another: then gpuprof's own thread reads the events of a block
    /// while the next one runs, as it does in a program.
    blocks: usize,
    /// Calls of a block; with their records they are about half of what a queue holds, or less.
    calls: usize,
}

impl Plan {
    pub(super) fn new(threads: usize, shared: bool, short: bool) -> Plan {
        let calls = match (threads, shared) {
            (8.., true) => 25,
            // Streams share the eight queues that a context has.
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

    /// Makes all calls, in a session of their own.
    pub(super) fn measure(&self) -> Result<Measured, String> {
        let text = |error| format!("{}: {error}", self.name());
        let first = raw_driver::stream().map_err(text)?;
        let context = Arc::clone(first.context());
        let streams: Answer<Vec<_>> = (0..self.threads)
            .map(|_| match self.shared {
                true => Ok(Arc::clone(&first)),
                false => context.new_stream(),
            })
            .collect();
        let streams = streams.map_err(text)?;
        // The shortest kernel there is: its length must not matter.
        let kernel = Kernel::spin(0).map_err(text)?;
        let session = Session::builder()
            .start()
            .map_err(|error| error.to_string())?;
        let gate = Gate::new(self.threads);
        let ended: Vec<Answer<Vec<Vec<f64>>>> = thread::scope(|scope| {
            let spawned = |(index, stream)| {
                let (kernel, gate, context) = (&kernel, &gate, &context);
                scope.spawn(move || self.thread(index == 0, context, stream, kernel, gate))
            };
            let threads: Vec<_> = streams.iter().enumerate().map(spawned).collect();
            let joined = threads.into_iter().map(|thread| thread.join());
            joined
                .map(|ended| ended.expect("a thread does not panic"))
                .collect()
        });
        let profile = session.finish();
        let threads = ended.into_iter().collect::<Answer<Vec<_>>>();
        Ok(Measured::new(&threads.map_err(text)?, profile))
    }

    /// What one thread does; gives ns per call of each way and turn. A failed thread still meets
    /// the others at the gate.
    fn thread(
        &self,
        leads: bool,
        context: &Arc<CudaContext>,
        stream: &Arc<CudaStream>,
        kernel: &Kernel,
        gate: &Gate,
    ) -> Answer<Vec<Vec<f64>>> {
        let mut ready = context
            .bind_to_thread()
            .and_then(|()| Pair::ring(self.calls));
        let mut found = vec![Vec::new(); WAYS.len()];
        // The first turn of each makes events and loads what there is to load.
        for turn in 0..=self.series {
            for at in 0..WAYS.len() {
                let at = (at + turn) % WAYS.len();
                let mut ns = 0.0;
                for _ in 0..self.blocks {
                    gate.pass();
                    if let Ok(ring) = &ready {
                        match block(WAYS[at], stream, kernel, ring) {
                            Ok(took) => ns += took,
                            Err(error) => ready = Err(error),
                        }
                    }
                }
                if turn > 0 {
                    found[at].push(ns / (self.blocks * self.calls) as f64);
                }
                gate.pass();
                if leads {
                    // What gpuprof still reads must not fall into the next way's time.
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

/// One call per pair of the ring; gives how long all took, ns. The GPU is through afterwards.
fn block(way: Way, stream: &Arc<CudaStream>, kernel: &Kernel, ring: &[Pair]) -> Answer<f64> {
    let began = Instant::now();
    for pair in ring {
        match way {
            Way::Attribute => annotated(stream, kernel)?,
            Way::ByHand => by_hand(stream, kernel, *pair)?,
            Way::Bare => kernel.launch(stream)?,
            Way::Empty => empty(stream)?,
            Way::EmptyByHand => empty_by_hand(stream, *pair)?,
        }
    }
    let took = began.elapsed().as_nanos() as f64;
    stream.synchronize()?;
    Ok(took)
}

/// What was found: ns per call of each way and turn, as the mean of all threads.
pub(super) struct Measured {
    ways: Vec<Vec<f64>>,
    pub(super) profile: Profile,
}

impl Measured {
    fn new(threads: &[Vec<Vec<f64>>], profile: Profile) -> Measured {
        let mean = |way: usize, turn: usize| {
            let sum: f64 = threads.iter().map(|thread| thread[way][turn]).sum();
            sum / threads.len() as f64
        };
        let turns = |way: usize| threads.first().map_or(0, |thread| thread[way].len());
        let ways = (0..WAYS.len()).map(|way| (0..turns(way)).map(|turn| mean(way, turn)).collect());
        Measured {
            ways: ways.collect(),
            profile,
        }
    }

    /// Every turn of one way.
    pub(super) fn of(&self, way: Way) -> &[f64] {
        let at = WAYS.iter().position(|known| *known == way);
        at.map_or(&[], |at| &self.ways[at])
    }

    /// Two ways turn by turn: turns lie beside each other in time, so what disturbs one disturbs
    /// the other.
    pub(super) fn together(&self, a: Way, b: Way, with: fn(f64, f64) -> f64) -> Vec<f64> {
        let turns = self.of(a).iter().zip(self.of(b));
        turns.map(|(a, b)| with(*a, *b)).collect()
    }
}
