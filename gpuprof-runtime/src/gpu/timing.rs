//! GPU timing as spans use it: which stream, whether to time this call, the two events, the hand-over.
//!
//! Runs on the user's threads, so nothing here waits for the GPU or for the resolver. Must not import span or report.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, OnceLock, Weak};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use crossbeam_queue::SegQueue;
use cudarc::driver::{CudaContext, CudaStream};
use parking_lot::Mutex;

use super::context::{Context, Contexts, NoPair, Pair, within};
use super::driver::Driver;
use super::pending::{Pairs, Progress, Receiver, Recorded, Sample, Sender};
use super::stream::StreamRef;
use super::{resolver, sys};
use crate::profile::Device;
use crate::stats::gpu_node::{GpuCall, GpuStats};
use crate::stats::node::{Fate, Untimed, Work};

/// The stream or streams of one call, as the attribute's `stream = …` or the probing of the arguments gave them.
#[derive(Debug)]
pub enum Streams<'a> {
    /// None of its own: the enclosing span's.
    Inherit,
    /// One.
    One(StreamRef<'a>),
    /// Several: timed from the first start to the last end, per device.
    Many(Vec<StreamRef<'a>>),
}

/// The process's GPU timing.
#[derive(Debug)]
pub(crate) struct Timing {
    pub(super) contexts: Contexts,
    pub(super) announce: SegQueue<Receiver>,
    rings: Mutex<Vec<Weak<Progress>>>,
    pub(super) stats: Mutex<GpuStats>,
    pub(super) devices: Mutex<Vec<Device>>,
    /// Time 1 call in this many.
    sample: AtomicU32,
    resolver: OnceLock<Option<thread::Thread>>,
    /// The resolver has nothing to do and may be asleep.
    pub(super) idle: AtomicBool,
    /// Somebody waits for the resolver: it must not sleep long.
    pub(super) hurry: AtomicBool,
    /// Event floors being measured.
    pub(super) probes: AtomicU32,
}

/// A stream with all that its events need.
#[derive(Clone, Debug)]
pub(crate) struct Lane {
    stream: sys::Stream,
    context: Arc<Context>,
    held: Option<Arc<CudaContext>>,
    /// Keeps the stream until the end event; `None` where it outlives the span by itself.
    keep: Option<Arc<CudaStream>>,
}

impl Lane {
    fn is_same_stream(&self, other: &Self) -> bool {
        self.stream == other.stream && Arc::ptr_eq(&self.context, &other.context)
    }
}

/// A span that is open on this thread, or a `with_stream`, innermost last.
#[derive(Clone, Debug)]
struct Open {
    depth: u32,
    site: u32,
    path: u32,
    /// The stream that spans inside inherit; of several, the first.
    lane: Option<Lane>,
    /// The others.
    more: Vec<Lane>,
    /// Whether sampling chose this call; spans inside follow.
    sampled: Option<bool>,
    /// How many calls this one stands for by its own site's `sample`; spans inside follow in that as well.
    weight: u32,
    /// It has its start events.
    timed: bool,
}

impl Open {
    /// Whether it is timed on exactly this stream.
    fn times_alone(&self, lane: &Lane) -> bool {
        self.timed && self.more.is_empty() && self.has(lane)
    }

    fn has(&self, lane: &Lane) -> bool {
        let mut lanes = self.lane.iter().chain(&self.more);
        lanes.any(|mine| mine.is_same_stream(lane))
    }
}

/// One thread's part.
#[derive(Debug)]
pub(crate) struct GpuThread {
    open: Vec<Open>,
    /// Contexts met by this thread. The `Weak` keeps an owner's address from being used again.
    contexts: Vec<(Weak<CudaContext>, Arc<Context>)>,
    sender: Option<(Sender, Arc<Progress>)>,
    /// Something was met for the first time since this was last asked.
    set_up: bool,
    random: fastrand::Rng,
}

/// The streams of a call, held so that nothing borrowed is left.
#[derive(Debug)]
pub(crate) enum Held {
    /// The enclosing span's, when the call begins.
    Inherit,
    /// Its own, or why they cannot be used.
    Lanes(Result<Vec<Lane>, Fate>),
}

/// Where in the call tree a span is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) site: u32,
    pub(crate) path: u32,
    pub(crate) depth: u32,
    /// The site's own `sample = N`; 0 or 1 for none.
    pub(crate) sample: u32,
}

/// What [`Timing::begin`] did.
#[derive(Debug)]
pub(crate) enum Begun {
    Timed(Box<Started>),
    Not(Fate),
}

/// A call whose start event is recorded.
#[derive(Debug)]
pub(crate) struct Started {
    lanes: Vec<(Lane, Pair)>,
    call: GpuCall,
    thread: ThreadId,
}

/// The entry a span leaves on its thread for the spans inside; an async span takes it from poll to poll.
#[derive(Clone, Debug)]
pub(crate) struct Scope(Open);

impl Timing {
    pub(crate) fn new() -> Self {
        Self {
            contexts: Contexts::new(),
            announce: SegQueue::new(),
            rings: Mutex::new(Vec::new()),
            stats: Mutex::new(GpuStats::default()),
            devices: Mutex::new(Vec::new()),
            sample: AtomicU32::new(1),
            resolver: OnceLock::new(),
            idle: AtomicBool::new(false),
            hurry: AtomicBool::new(false),
            probes: AtomicU32::new(0),
        }
    }

    pub(crate) fn set_sample(&self, sample: u32) {
        self.sample.store(sample.max(1), Relaxed);
    }

    /// Records the start event of a call. The second value is for [`GpuThread::enter`].
    pub(crate) fn begin(
        &'static self,
        thread: &mut GpuThread,
        streams: Held,
        place: Place,
        is_async: bool,
    ) -> (Begun, Option<Scope>) {
        let lanes = match streams {
            Held::Lanes(lanes) => lanes,
            Held::Inherit => thread.inherit(is_async),
        };
        let lanes = match lanes {
            Ok(lanes) => lanes,
            Err(fate) => return (Begun::Not(fate), None),
        };
        let Some(first) = lanes.first() else {
            return (Begun::Not(Fate::NoStream), None);
        };
        let driver = Driver::get();
        thread.set_up |= first.context.is_fresh();
        let (chosen, weight) = thread.choose(self.sample.load(Relaxed), place.sample);
        let mut scope = Open {
            depth: place.depth,
            site: place.site,
            path: place.path,
            lane: Some(first.clone()),
            more: lanes.get(1..).unwrap_or_default().to_vec(),
            sampled: Some(chosen),
            weight,
            timed: false,
        };
        if !chosen {
            return (
                Begun::Not(Fate::Untimed(Untimed::SampledOut)),
                Some(Scope(scope)),
            );
        }
        if driver.lacks().is_some() || !self.has_resolver() {
            return (
                Begun::Not(Fate::Untimed(Untimed::Unavailable)),
                Some(Scope(scope)),
            );
        }
        let enclosing = thread.enclosing(&lanes);
        let call = GpuCall {
            path: place.path,
            site: place.site,
            device: first.context.device,
            counts: true,
            parent: enclosing.map(|(path, _)| path),
            outermost: !thread.is_inside(&lanes, place.site),
            weight: enclosing.map_or(weight, |(_, between)| between.saturating_mul(weight)),
            work: Work::NONE,
        };
        let begun = match start_all(driver, lanes) {
            Ok(lanes) => {
                scope.timed = true;
                Begun::Timed(Box::new(Started {
                    lanes,
                    call,
                    thread: thread::current().id(),
                }))
            }
            Err(fate) => Begun::Not(fate),
        };
        (begun, Some(Scope(scope)))
    }

    /// Records the end event. A sample is then to be [`submit`](Self::submit)ted once the call is booked.
    pub(crate) fn end(
        &'static self,
        thread: &mut GpuThread,
        begun: Begun,
        work: Work,
        epoch: u32,
    ) -> (Fate, Option<Sample>) {
        let started = match begun {
            Begun::Timed(started) => *started,
            Begun::Not(fate) => return (fate, None),
        };
        let driver = Driver::get();
        let per_thread = started
            .lanes
            .iter()
            .any(|(lane, _)| lane.stream == sys::Stream::PER_THREAD);
        let moved = per_thread && started.thread != thread::current().id();
        let outcome = match moved {
            true => Err(Fate::Untimed(Untimed::StreamUnsafe)),
            false => started
                .lanes
                .iter()
                .try_for_each(|(lane, pair)| end_lane(driver, lane, *pair)),
        };
        let mut recorded: Vec<Recorded> = Vec::new();
        let mut pairs = None;
        let single = started.lanes.len() == 1;
        for (lane, pair) in started.lanes {
            let one = Recorded {
                context: lane.context,
                pair,
                stream: lane.stream,
                _held: lane.held,
            };
            match single {
                true => pairs = Some(Pairs::One(one)),
                false => recorded.push(one),
            }
        }
        let pairs = pairs.unwrap_or(Pairs::Many(recorded));
        // Whether the ring has room is known before anything is booked: this thread alone fills it.
        let outcome = outcome.and_then(|()| match thread.sender(self).has_room() {
            true => Ok(()),
            false => Err(Fate::Untimed(Untimed::QueueFull)),
        });
        if let Err(fate) = outcome {
            pairs.recycle();
            return (fate, None);
        }
        (
            Fate::Submitted,
            Some(Sample {
                call: GpuCall {
                    work,
                    ..started.call
                },
                epoch,
                pairs,
            }),
        )
    }

    /// Hands a sample to the resolver.
    pub(crate) fn submit(&self, thread: &mut GpuThread, sample: Sample) {
        thread.sender(self).send(sample);
        if self.idle.load(Relaxed) {
            self.wake();
        }
    }

    /// Takes hold of a call's streams. `later`: the call begins when nothing that was borrowed here need live any more.
    pub(crate) fn hold(&self, thread: &mut GpuThread, streams: &Streams<'_>, later: bool) -> Held {
        match streams {
            Streams::Inherit => Held::Inherit,
            Streams::One(stream) => {
                Held::Lanes(self.lane(thread, stream, later).map(|lane| vec![lane]))
            }
            Streams::Many(streams) => {
                let lanes = streams
                    .iter()
                    .map(|stream| self.lane(thread, stream, later));
                Held::Lanes(lanes.collect())
            }
        }
    }

    fn lane(
        &self,
        thread: &mut GpuThread,
        stream: &StreamRef<'_>,
        later: bool,
    ) -> Result<Lane, Fate> {
        let keep = stream
            .keep(later)
            .map_err(|_| Fate::Untimed(Untimed::StreamUnsafe))?;
        let context = match stream.context().and_then(|owner| thread.known(owner)) {
            Some(known) => known,
            None => {
                let met = self
                    .contexts
                    .of(Driver::get(), stream)
                    .map_err(|failed| match failed.is_missing() {
                        true => Fate::Untimed(Untimed::Unavailable),
                        false => Fate::Untimed(Untimed::CudaError),
                    })?;
                thread.remember(stream.context(), &met);
                met
            }
        };
        Ok(Lane {
            stream: stream.handle(),
            context,
            held: stream.context().cloned(),
            keep,
        })
    }

    fn has_resolver(&'static self) -> bool {
        self.resolver
            .get_or_init(|| resolver::spawn(self))
            .is_some()
    }

    pub(super) fn wake(&self) {
        if let Some(Some(resolver)) = self.resolver.get() {
            resolver.unpark();
        }
    }

    /// Waits until everything submitted so far is resolved, at most `limit`.
    pub(crate) fn wait(&self, limit: Duration) {
        if !matches!(self.resolver.get(), Some(Some(_))) {
            return;
        }
        let deadline = Instant::now() + limit;
        // An event floor that does not come is no reason to keep a program from ending.
        let floor_deadline = Instant::now() + limit.min(Duration::from_millis(100));
        let rings: Vec<(Arc<Progress>, u64)> = {
            let rings = self.rings.lock();
            rings
                .iter()
                .filter_map(Weak::upgrade)
                .map(|ring| (Arc::clone(&ring), ring.submitted()))
                .collect()
        };
        let mut pause = Duration::from_micros(20);
        self.hurry.store(true, Relaxed);
        loop {
            let now = Instant::now();
            let samples_done = rings
                .iter()
                .all(|(ring, target)| ring.resolved() >= *target)
                || now >= deadline;
            let floors_done = !self.probing() || now >= floor_deadline;
            if (samples_done && floors_done) || Driver::get().has_ended() {
                break;
            }
            self.wake();
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(1));
        }
        self.hurry.store(false, Relaxed);
    }

    fn probing(&self) -> bool {
        self.probes.load(Relaxed) > 0 || self.contexts.has_new()
    }

    /// What is resolved of the current epoch; `None` when the lock is not to be had within `limit`.
    pub(crate) fn stats(&self, limit: Duration) -> Option<GpuStats> {
        Some(self.stats.try_lock_for(limit)?.clone())
    }

    /// Forgets all GPU times; with the epoch already advanced, late samples do not come back.
    pub(crate) fn clear(&self) {
        *self.stats.lock() = GpuStats::default();
        if let Some(driver) = Driver::met() {
            driver.forget_failures();
        }
    }

    pub(crate) fn devices(&self) -> Vec<Device> {
        let mut devices = self.devices.lock().clone();
        devices.sort_by_key(|device| device.ordinal);
        devices
    }

    pub(crate) fn floor_ns(&self) -> Option<u64> {
        self.contexts.floor_ns()
    }
}

impl GpuThread {
    pub(crate) fn new() -> Self {
        Self {
            open: Vec::new(),
            contexts: Vec::new(),
            sender: None,
            set_up: false,
            random: fastrand::Rng::new(),
        }
    }

    /// Whether the work since the last call was partly set-up, done once.
    pub(crate) fn take_set_up(&mut self) -> bool {
        std::mem::take(&mut self.set_up)
    }

    /// Lets spans inside inherit from `scope` until [`leave`](Self::leave).
    pub(crate) fn enter(&mut self, scope: Scope) {
        self.open.push(scope.0);
    }

    /// Forgets everything opened at `depth` or deeper.
    pub(crate) fn leave(&mut self, depth: u32) {
        while self.open.last().is_some_and(|open| open.depth >= depth) {
            self.open.pop();
        }
    }

    fn known(&self, owner: &Arc<CudaContext>) -> Option<Arc<Context>> {
        let (_, context) = self
            .contexts
            .iter()
            .find(|(known, _)| known.as_ptr() == Arc::as_ptr(owner))?;
        Some(Arc::clone(context))
    }

    fn remember(&mut self, owner: Option<&Arc<CudaContext>>, context: &Arc<Context>) {
        if let Some(owner) = owner {
            self.set_up = true;
            self.contexts.retain(|(known, _)| known.strong_count() > 0);
            self.contexts
                .push((Arc::downgrade(owner), Arc::clone(context)));
        }
    }

    /// The enclosing span's stream, if there is one.
    fn inherit(&self, is_async: bool) -> Result<Vec<Lane>, Fate> {
        match self.inherited() {
            // A future may outlive the span it inherits from, and with it a stream that nothing keeps.
            Some(lane) if is_async && lane.keep.is_none() => {
                Err(Fate::Untimed(Untimed::StreamUnsafe))
            }
            lane => Ok(lane.cloned().into_iter().collect()),
        }
    }

    fn inherited(&self) -> Option<&Lane> {
        self.open.iter().rev().find_map(|open| open.lane.as_ref())
    }

    /// Whether sampling takes this call, and for how many calls it then stands by its own site's `sample`.
    fn choose(&mut self, global: u32, own: u32) -> (bool, u32) {
        let inherited = self.open.iter().rev().find_map(|open| open.sampled);
        let base = match inherited {
            Some(decided) => decided,
            None => global <= 1 || self.random.u32(..global) == 0,
        };
        match own {
            0 | 1 => (base, 1),
            own => (base && self.random.u32(..own) == 0, own),
        }
    }

    /// Path of the nearest timed span on the same single stream, and the product of the weights of the spans between.
    fn enclosing(&self, lanes: &[Lane]) -> Option<(u32, u32)> {
        let [lane] = lanes else { return None };
        let at = self.open.iter().rposition(|open| open.times_alone(lane))?;
        let between = self.open.get(at + 1..).unwrap_or_default();
        let weight = between
            .iter()
            .fold(1_u32, |product, open| product.saturating_mul(open.weight));
        Some((self.open.get(at)?.path, weight))
    }

    /// Whether a call of `site` is being timed on all of these streams.
    fn is_inside(&self, lanes: &[Lane], site: u32) -> bool {
        let mut open = self.open.iter();
        open.any(|open| open.site == site && open.timed && lanes.iter().all(|lane| open.has(lane)))
    }

    fn sender(&mut self, timing: &Timing) -> &mut Sender {
        self.set_up |= self.sender.is_none();
        let (sender, _) = self.sender.get_or_insert_with(|| {
            let (sender, progress) = Sender::open(&timing.announce);
            let mut rings = timing.rings.lock();
            rings.retain(|ring| ring.strong_count() > 0);
            rings.push(Arc::downgrade(&progress));
            (sender, progress)
        });
        sender
    }
}

impl Scope {
    /// A default stream without a span, as `with_stream` sets it.
    pub(crate) fn default_stream(
        timing: &Timing,
        thread: &mut GpuThread,
        stream: &StreamRef<'_>,
        depth: u32,
    ) -> Option<Self> {
        let lane = timing.lane(thread, &stream.outliving(true), false).ok()?;
        Some(Self(Open {
            depth,
            site: u32::MAX,
            path: 0,
            lane: Some(lane),
            more: Vec::new(),
            sampled: None,
            weight: 1,
            timed: false,
        }))
    }

    /// The same at another depth, as another poll may find itself deeper or shallower.
    pub(crate) fn at(&self, depth: u32) -> Self {
        Self(Open {
            depth,
            ..self.0.clone()
        })
    }
}

/// Start events on all lanes, or none.
fn start_all(driver: &Driver, lanes: Vec<Lane>) -> Result<Vec<(Lane, Pair)>, Fate> {
    let mut started = Vec::with_capacity(lanes.len());
    for lane in lanes {
        match start_lane(driver, &lane) {
            Ok(pair) => started.push((lane, pair)),
            Err(fate) => {
                started
                    .iter()
                    .for_each(|(lane, pair): &(Lane, Pair)| lane.context.give(*pair));
                return Err(fate);
            }
        }
    }
    Ok(started)
}

fn start_lane(driver: &Driver, lane: &Lane) -> Result<Pair, Fate> {
    let context = &lane.context;
    in_context_of(driver, lane, || {
        check_stream(driver, lane)?;
        let pair = context.take(driver).map_err(|no_pair| match no_pair {
            NoPair::Exhausted => Fate::Untimed(Untimed::PoolExhausted),
            NoPair::Failed => Fate::Untimed(Untimed::CudaError),
        })?;
        driver
            .record(pair.start, lane.stream)
            .map(|()| pair)
            .map_err(|failed| {
                context.note(failed);
                context.give(pair);
                Fate::Untimed(Untimed::CudaError)
            })
    })
}

fn end_lane(driver: &Driver, lane: &Lane, pair: Pair) -> Result<(), Fate> {
    in_context_of(driver, lane, || {
        check_stream(driver, lane)?;
        driver.record(pair.end, lane.stream).map_err(|failed| {
            lane.context.note(failed);
            Fate::Untimed(Untimed::CudaError)
        })
    })
}

fn in_context_of<R>(
    driver: &Driver,
    lane: &Lane,
    f: impl FnOnce() -> Result<R, Fate>,
) -> Result<R, Fate> {
    within(driver, lane.context.handle, f).unwrap_or_else(|failed| {
        lane.context.note(failed);
        Err(Fate::Untimed(Untimed::CudaError))
    })
}

/// Asked before any other call on the stream: an event recorded while it is captured would measure nothing.
fn check_stream(driver: &Driver, lane: &Lane) -> Result<(), Fate> {
    if lane.context.is_broken() || driver.has_ended() {
        return Err(Fate::Untimed(Untimed::Unavailable));
    }
    match driver.is_capturing(lane.stream) {
        Ok(false) => Ok(()),
        Ok(true) => Err(Fate::Captured),
        Err(failed) => {
            lane.context.note(failed);
            Err(Fate::Untimed(Untimed::CudaError))
        }
    }
}
