//! The resolver's thread: asks which events the GPU has passed, reads their times and returns them
//! to the pool.
//!
//! It runs in RELAXED capture mode, so that its queries never disturb a capture. It holds no lock
//! that a span needs, and it owns contexts only through pending samples.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

use cudarc::driver::CudaContext;
use rustc_hash::FxHashMap;

use crate::gpu::driver::device;
use crate::gpu::driver::handles::Stream;
use crate::gpu::driver::table::Driver;
use crate::gpu::events::pool::Context;
use crate::gpu::events::thread_context::ThreadContext;
use crate::gpu::resolver::channel::{CROWDED, Message, Progress, Receiver, Sample};
use crate::gpu::resolver::complete::has_passed;
use crate::gpu::resolver::complete::{NotYet, finish, give_up};
use crate::gpu::resolver::event_overhead::EventOverheads;
use crate::gpu::resolver::queue::{Backlog, Store};
use crate::gpu::stream::context_guard::Kept;
use crate::gpu::timer::Timing;
use crate::os;
use crate::stats::ended_call::StatedWork;

/// While somebody waits for it.
const HURRIED_SLEEP: Duration = Duration::from_micros(20);
/// While times come in. Whoever records is held up by each look; who waits for times wakes the
/// thread.
const BUSY_SLEEP: Duration = Duration::from_millis(1);
/// While they come in faster than rings and pools are made for.
const SHORTEST_SLEEP: Duration = Duration::from_micros(200);
const LONGEST_SLEEP: Duration = Duration::from_millis(8);
/// Looks that find nothing pending before the thread lies down until a span wakes it. A wake-up
/// costs a span as much as two event records (H200, driver 580: 0.3 µs a span where every third one
/// met a sleeping thread), and a program that launches all the time must not pay it.
const QUIET_LOOKS: u32 = 10;
/// How late a thread that lies down notices a wake-up that crossed its falling asleep.
const PARKED: Duration = Duration::from_millis(100);
/// Idle lanes (streams that may never come back) kept before they are thrown out.
const LANES_KEPT: usize = 256;

/// Starts the thread. If that fails, calls go untimed for the rest of the process.
pub(in crate::gpu) fn spawn(timing: &'static Timing) -> Option<thread::Thread> {
    match os::thread_signals::spawn("gpuprof-resolver", move || Resolver::new(timing).run()) {
        Ok(handle) => Some(handle.thread().clone()),
        Err(error) => {
            let line =
                format!("gpuprof: could not start a thread: {error}; calls are not GPU-timed\n");
            os::fd::stderr(line.as_bytes());
            None
        }
    }
}

struct Ring {
    id: u64,
    receiver: Receiver,
    /// Samples that have come through it.
    received: u64,
    /// What the next sample states.
    work: Option<Box<StatedWork>>,
    /// Contexts held while samples of the thread are pending there.
    holds: Vec<(Arc<ThreadContext>, Kept<CudaContext>)>,
}

struct Waiting {
    sample: Sample,
    progress: Arc<Progress>,
}

struct Resolver {
    timing: &'static Timing,
    driver: &'static Driver,
    contexts: Vec<Arc<Context>>,
    overheads: EventOverheads,
    rings: Vec<Ring>,
    next_ring: u64,
    samples: Store<Sample>,
    /// By ring, context and stream.
    lanes: FxHashMap<(u64, usize, Stream), (Backlog, Arc<Progress>)>,
    /// Calls on several streams, which no order binds.
    loose: Vec<Waiting>,
    /// Samples resolved in this round, by ring: told when what was held for them is let go.
    resolved: Vec<(Arc<Progress>, u64)>,
    /// At the last look a ring was filling up, or a pool was nearly empty.
    crowded: bool,
}

impl Resolver {
    fn new(timing: &'static Timing) -> Self {
        Self {
            timing,
            driver: Driver::get(),
            contexts: Vec::new(),
            overheads: EventOverheads::default(),
            rings: Vec::new(),
            next_ring: 0,
            samples: Store::new(),
            lanes: FxHashMap::default(),
            loose: Vec::new(),
            resolved: Vec::new(),
            crowded: false,
        }
    }

    fn run(mut self) {
        let driver = self.driver;
        let ran = driver.relaxed(|| {
            let mut sleep = SHORTEST_SLEEP;
            let mut quiet = 0;
            while !driver.has_ended() {
                let moved = self.round();
                sleep = match (moved, self.crowded) {
                    (_, true) => SHORTEST_SLEEP,
                    (true, false) => BUSY_SLEEP,
                    (false, false) => (sleep * 2).clamp(BUSY_SLEEP, LONGEST_SLEEP),
                };
                quiet = if moved || self.has_pending() {
                    0
                } else {
                    quiet + 1
                };
                match quiet > QUIET_LOOKS {
                    true => self.lie_down(),
                    false => self.rest(sleep),
                }
            }
        });
        if ran.is_err() {
            self.refuse();
        }
    }

    /// Instead of reading times, where the thread cannot be put in RELAXED mode: in any other a
    /// query could spoil a capture of the program's. Calls go untimed from now on, and those under
    /// way are booked as failed.
    fn refuse(&mut self) {
        self.timing.refused.store(true, Relaxed);
        while !self.driver.has_ended() {
            for context in self.timing.contexts.take_new() {
                self.timing.contexts.met(&context);
            }
            self.overheads.give_up(&self.timing.probes);
            self.receive();
            for waiting in self.loose.drain(..) {
                give_up(self.timing, &waiting.sample);
                waiting.sample.settle();
                self.resolved.push((waiting.progress, 1));
            }
            for (_, (mut lane, progress)) in self.lanes.drain() {
                while let Some(sample) = lane.pop(&mut self.samples) {
                    give_up(self.timing, &sample);
                    sample.settle();
                    self.resolved.push((Arc::clone(&progress), 1));
                }
            }
            self.tell();
            self.rest(LONGEST_SLEEP);
        }
    }

    /// One look at everything. Returns whether anything moved.
    fn round(&mut self) -> bool {
        self.meet_contexts();
        let received = self.receive();
        let resolved = self.poll_lanes() + self.poll_loose();
        self.tell();
        let is_idle = !self.has_pending_calls();
        self.overheads
            .poll(&self.timing.probes, self.driver, is_idle);
        for context in &self.contexts {
            self.crowded |= context.refill(self.driver);
        }
        received + resolved > 0
    }

    fn has_pending(&self) -> bool {
        self.overheads.is_measuring() || self.has_pending_calls()
    }

    fn has_pending_calls(&self) -> bool {
        let mut lanes = self.lanes.values();
        !self.loose.is_empty() || lanes.any(|(lane, _)| !lane.is_empty())
    }

    fn rest(&self, sleep: Duration) {
        let hurry = self.timing.hurry.load(Relaxed);
        // Parked and not asleep, so that who begins to wait need not wait for the end of a long
        // one.
        thread::park_timeout(if hurry { HURRIED_SLEEP } else { sleep });
    }

    /// Sleeps until a span or a waiting thread wakes it.
    fn lie_down(&self) {
        let has_work = || {
            let mut rings = self.rings.iter();
            let has_new = !self.timing.announce.is_empty() || self.timing.probes.has_new();
            has_new || rings.any(|ring| !ring.receiver.ring.is_empty())
        };
        self.timing
            .doze
            .lie_down(has_work, || thread::park_timeout(PARKED));
    }

    fn meet_contexts(&mut self) {
        let timing = self.timing;
        self.contexts.retain(|context| context.is_alive());
        for context in timing.contexts.take_new() {
            self.describe(context.device);
            self.overheads.meet(&context);
            timing.contexts.met(&context);
            if !self
                .contexts
                .iter()
                .any(|known| Arc::ptr_eq(known, &context))
            {
                self.contexts.push(context);
            }
        }
    }

    fn describe(&self, ordinal: u32) {
        let known = |devices: &[gpuprof_report::profile::Device]| {
            devices.iter().any(|device| device.ordinal == ordinal)
        };
        if !known(&self.timing.devices.lock()) {
            let device = device::describe(self.driver, ordinal);
            self.timing.devices.lock().push(device);
        }
    }

    /// Takes everything out of the rings; returns how much.
    fn receive(&mut self) -> u64 {
        while let Some(receiver) = self.timing.announce.pop() {
            self.rings.push(Ring {
                id: self.next_ring,
                receiver,
                received: 0,
                work: None,
                holds: Vec::new(),
            });
            self.next_ring += 1;
        }
        let mut received = 0;
        self.crowded = false;
        for ring in &mut self.rings {
            let before = ring.received;
            while let Ok(message) = ring.receiver.ring.pop() {
                let mut sample = match message {
                    Message::Sample(sample) => sample,
                    Message::Work(work) => {
                        ring.work = Some(Box::new(work));
                        continue;
                    }
                    Message::Hold(context, owner) => {
                        context.set_held(true);
                        ring.holds.push((context, owner));
                        continue;
                    }
                };
                received += 1;
                ring.received += 1;
                sample.work = sample.work.or_else(|| ring.work.take());
                sample.expect();
                let progress = &ring.receiver.progress;
                let Some(recorded) = sample.pairs.single() else {
                    self.loose.push(Waiting {
                        sample,
                        progress: Arc::clone(progress),
                    });
                    continue;
                };
                let key = (
                    ring.id,
                    Arc::as_ptr(recorded.context.shared()) as usize,
                    recorded.stream,
                );
                let (lane, _) = self
                    .lanes
                    .entry(key)
                    .or_insert_with(|| (Backlog::default(), Arc::clone(progress)));
                lane.push(&mut self.samples, sample);
            }
            self.crowded |= ring.received - before > CROWDED;
        }
        // An ended thread's ring goes when it is empty; its lanes live until they are empty too.
        self.rings.retain(|ring| {
            let Receiver { ring: left, .. } = &ring.receiver;
            !(left.is_abandoned() && left.is_empty() && ring.holds.is_empty())
        });
        received
    }

    /// Lets go of what no sample needs any more, then tells those who wait what is resolved: by
    /// then gpuprof is nobody's last owner.
    fn tell(&mut self) {
        self.rings.iter_mut().for_each(Ring::let_go);
        for (progress, samples) in self.resolved.drain(..) {
            progress.resolve(samples);
        }
    }

    fn poll_lanes(&mut self) -> u64 {
        let mut all = 0;
        for (lane, progress) in self.lanes.values_mut() {
            let mut resolved = 0;
            for _ in 0..lane.completed(&self.samples, self.driver) {
                let Some(sample) = lane.first(&self.samples) else {
                    break;
                };
                if let Err(NotYet) = finish(self.timing, self.driver, sample) {
                    break;
                }
                sample.settle();
                lane.pop(&mut self.samples);
                resolved += 1;
            }
            if resolved > 0 {
                self.resolved.push((Arc::clone(progress), resolved));
            }
            lane.looked_at();
            all += resolved;
        }
        if self.lanes.len() > LANES_KEPT {
            self.lanes.retain(|_, (lane, _)| !lane.is_empty());
        }
        all
    }

    fn poll_loose(&mut self) -> u64 {
        let before = self.resolved.len();
        self.loose.retain(|waiting| {
            // A failing query counts as completed: reading the time then fails too and is booked as
            // such.
            let done = waiting
                .sample
                .pairs
                .as_slice()
                .iter()
                .all(|one| has_passed(self.driver, one).unwrap_or(true));
            let done = done && finish(self.timing, self.driver, &waiting.sample).is_ok();
            if done {
                waiting.sample.settle();
                self.resolved.push((Arc::clone(&waiting.progress), 1));
            }
            !done
        });
        (self.resolved.len() - before) as u64
    }
}

impl Ring {
    /// Lets go of the contexts of which nothing is pending.
    fn let_go(&mut self) {
        let Self {
            receiver, received, ..
        } = self;
        self.holds.retain(|(context, _)| {
            let has_all = || receiver.progress.submitted() == *received;
            let over = !context.has_pending() && context.handover.offer(has_all);
            if over {
                context.set_held(false);
            }
            !over
        });
    }
}
