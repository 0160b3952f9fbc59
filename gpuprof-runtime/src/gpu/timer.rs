//! GPU timing as spans use it: decides whether to time a call, records its two events, and submits
//! it to the resolver.
//!
//! Runs on the program's threads: nothing here waits for the GPU or for the resolver.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, OnceLock, Weak};
use std::thread;
use std::time::Duration;

use crossbeam_queue::SegQueue;
use crossbeam_utils::CachePadded;
use parking_lot::Mutex;

use crate::gpu::adaptive_sampling::Rates;
use crate::gpu::driver::handles;
use crate::gpu::driver::table::Driver;
use crate::gpu::events::pools::Contexts;
use crate::gpu::events::record;
use crate::gpu::frame::{Open, State};
use crate::gpu::gpu_thread::GpuThread;
use crate::gpu::nesting::Around;
use crate::gpu::resolver::channel::{self, Progress, Receiver, Sample};
use crate::gpu::resolver::event_overhead::Probes;
use crate::gpu::resolver::handshake::Doze;
use crate::gpu::sampling::Own;
use crate::gpu::stream::resolve::{Held, Lane};
use crate::settings::Sampling;
use crate::stats::ended_call::{GpuOutcome, StatedWork, UntimedReason};
use crate::stats::gpu_totals::{GpuTotals, TimedCall};
use crate::stats::late_results::{LatePolicy, Windowed};
use crate::stats::path_ids::ROOT;
use gpuprof_report::profile::Device;

/// The process's GPU timing.
#[derive(Debug)]
pub(crate) struct Timing {
    pub(super) contexts: Contexts,
    pub(super) announce: SegQueue<Receiver>,
    pub(super) rings: Mutex<Vec<Weak<Progress>>>,
    /// Apart from what spans read: the resolver takes it for each sample.
    totals: CachePadded<Mutex<Windowed<GpuTotals>>>,
    pub(super) devices: Mutex<Vec<Device>>,
    /// Time 1 call in this many; 0: as the rates say.
    pub(super) sample: AtomicU32,
    rates: Rates,
    pub(super) resolver: OnceLock<Option<thread::Thread>>,
    pub(super) doze: Doze,
    /// Somebody waits for the resolver: it must not sleep long.
    pub(super) hurry: AtomicBool,
    /// The resolver cannot read anything: calls go untimed.
    pub(super) refused: AtomicBool,
    /// Event overheads being measured.
    pub(super) probes: Probes,
}

/// Where in the call tree a span is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) site: u32,
    pub(crate) path: u32,
    /// The site's own `sample = N`; 0 for none.
    pub(crate) sample: u32,
}

impl Timing {
    pub(crate) fn new() -> Self {
        Self {
            contexts: Contexts::new(),
            announce: SegQueue::new(),
            rings: Mutex::new(Vec::new()),
            totals: CachePadded::new(Mutex::new(Windowed::new(
                crate::stats::window_epoch::current(),
            ))),
            devices: Mutex::new(Vec::new()),
            sample: AtomicU32::new(1),
            rates: Rates::new(),
            resolver: OnceLock::new(),
            doze: Doze::new(),
            hurry: AtomicBool::new(false),
            refused: AtomicBool::new(false),
            probes: Probes::new(),
        }
    }

    pub(super) fn totals(&self) -> &Mutex<Windowed<GpuTotals>> {
        &self.totals
    }

    pub(crate) fn sampling(&self) -> Sampling {
        match NonZeroU32::new(self.sample.load(Relaxed)) {
            None => Sampling::Auto,
            Some(NonZeroU32::MIN) => Sampling::EveryCall,
            Some(n) => Sampling::OneIn(n),
        }
    }

    /// Begins a session's sampling.
    pub(crate) fn set_sampling(&self, sampling: Sampling) {
        // 0 is `Auto`: the setting fits one atomic word.
        let one_in = match sampling {
            Sampling::Auto => 0,
            Sampling::OneIn(n) => n.get(),
            _ => 1,
        };
        self.rates.reset();
        self.sample.store(one_in, Relaxed);
    }

    /// What gpuprof chooses rates by, where it does.
    pub(super) fn rates(&self) -> Option<&Rates> {
        (self.sample.load(Relaxed) == 0).then_some(&self.rates)
    }

    /// Records the start event of a call. `None`: it has no stream.
    #[inline]
    pub(crate) fn begin(
        &'static self,
        thread: &mut GpuThread,
        streams: Held,
        place: Place,
        is_async: bool,
    ) -> Option<Box<Open>> {
        let mut open = thread.blank();
        open.site = place.site;
        open.path = place.path;
        open.epoch = crate::stats::window_epoch::current();
        match streams {
            Held::Own(lanes) => open.set_lanes(lanes),
            Held::Inherit => match thread.inherit(is_async) {
                Ok(inherited) => {
                    open.set_lanes(inherited.lanes);
                    open.lender = inherited.lender;
                }
                Err(outcome) => {
                    open.state = State::Untimed(outcome);
                    return Some(open);
                }
            },
            Held::Refused(outcome) => {
                open.state = State::Unusable(outcome);
                return Some(open);
            }
        }
        let Some(first) = open.lanes.as_slice().first() else {
            thread.recycle(open);
            return None;
        };
        thread.note_set_up(first.context.is_fresh());
        let sample = self.sample.load(Relaxed);
        let own = match (sample, place.sample) {
            (0, 0) => Own::Aimed(self.rates.of(place.site)),
            (_, stated) => Own::Stated(stated),
        };
        let chosen = thread.choose(sample, own);
        if sample > 1 || own.is_sampled() || !chosen.yes {
            // An estimate speaks for calls that could have been timed, and counts stay exact; so
            // this is asked whether the call was chosen or not.
            if let Err(outcome) = record::check(Driver::get(), &open.lanes) {
                open.state = State::Untimed(outcome);
                return Some(open);
            }
        }
        open.chosen = Some(chosen);
        match self.start(thread, &mut open, is_async) {
            Ok(()) => {
                open.timed = true;
                // A future's parts share it; a plain span makes it when it is wanted.
                open.inside = is_async.then(Arc::default);
            }
            Err(outcome) => open.state = State::Untimed(outcome),
        }
        Some(open)
    }

    #[inline]
    fn start(
        &'static self,
        thread: &mut GpuThread,
        open: &mut Open,
        is_async: bool,
    ) -> Result<(), GpuOutcome> {
        let driver = Driver::get();
        let chosen = open
            .chosen
            .filter(|chosen| chosen.yes)
            .ok_or(GpuOutcome::Untimed(UntimedReason::SampledOut))?;
        if driver.lacks().is_some() || !self.has_resolver() {
            return Err(GpuOutcome::Untimed(UntimedReason::Unavailable));
        }
        for lane in open.lanes.as_slice() {
            if !lane.context.is_measured() {
                record::check(driver, &open.lanes)?;
                let context = lane.context.shared();
                self.probes.measure_before_first_call(driver, context);
            }
        }
        let (around, outermost) = match thread.has_open() {
            true => (
                thread.around(&open.lanes),
                !thread.is_inside(&open.lanes, open.site),
            ),
            false => (Around::NONE, true),
        };
        let pairs = match is_async {
            false => record::start(driver, thread, &open.lanes)?,
            true => record::start_async(driver, thread, &open.lanes)?,
        };
        open.is_async = is_async;
        let (mut parent, mut weight_in_parent) = (ROOT, chosen.own);
        if let Some((path, inside, between)) = around.subtract {
            parent = path;
            open.enclosing = Some(inside);
            weight_in_parent = between.saturating_mul(weight_in_parent);
        }
        open.call = TimedCall {
            path: open.path,
            site: open.site,
            device: open
                .lanes
                .as_slice()
                .first()
                .map_or(0, |lane| lane.context.device),
            counts: true,
            parent,
            enclosing_timed: around.enclosing_timed,
            partly_overlaps: around.partly_overlaps,
            outermost,
            weight_in_parent,
            draw: chosen.draw,
        };
        open.set_pairs(pairs);
        open.thread = Some(thread.id);
        open.state = State::Started;
        Ok(())
    }

    /// Records the end event: [`hand_in`](Self::hand_in) gives the call to the resolver once it is
    /// booked.
    #[inline]
    pub(crate) fn end(
        &'static self,
        thread: &mut GpuThread,
        mut open: Box<Open>,
        work: &StatedWork,
        epoch: u32,
    ) -> Result<Box<Open>, GpuOutcome> {
        match self.close(thread, &mut open, work, epoch) {
            Ok(()) => Ok(open),
            Err(outcome) => {
                // What goes no further gives its pairs back.
                thread.recycle(open);
                Err(outcome)
            }
        }
    }

    #[inline]
    fn close(
        &'static self,
        thread: &mut GpuThread,
        open: &mut Open,
        work: &StatedWork,
        epoch: u32,
    ) -> Result<(), GpuOutcome> {
        match &open.state {
            State::None => return Err(GpuOutcome::NoStream),
            State::Untimed(outcome) | State::Unusable(outcome) => return Err(*outcome),
            State::Started => {}
        }
        let is_per_thread = |lane: &Lane| lane.stream == handles::Stream::PER_THREAD;
        let per_thread = open.lanes.as_slice().iter().any(is_per_thread);
        if per_thread && open.thread != Some(thread.id) {
            return Err(GpuOutcome::Untimed(UntimedReason::StreamUnsafe));
        }
        if open.epoch != epoch {
            // Its time, and that of the spans inside it, would belong to both windows.
            return Err(GpuOutcome::Untimed(UntimedReason::CrossedReset));
        }
        thread.check_lender(open)?;
        record::end(Driver::get(), &open.lanes, &open.pairs)?;
        // Whether the ring has room is known before anything is booked: this thread alone fills it.
        if !thread
            .sender(self)
            .has_room(open.lanes.as_slice().len(), work)
        {
            return Err(GpuOutcome::Untimed(UntimedReason::QueueFull));
        }
        Ok(())
    }

    /// Hands a call that has its end event to the resolver.
    #[inline]
    pub(crate) fn hand_in(&self, thread: &mut GpuThread, mut open: Box<Open>, work: &StatedWork) {
        // Only a future may have begun on another thread.
        if open.thread != Some(thread.id) {
            for lane in open.lanes.as_mut_slice() {
                if let Some(mine) = thread.contexts.own(&lane.context) {
                    lane.context = mine;
                }
            }
        }
        if open.is_async {
            record::end_async(open.lanes.as_slice().iter());
        }
        let sender = thread.sender(self);
        sender.announce();
        for lane in open.lanes.as_slice() {
            if let Some(owner) = lane.context.hand_over() {
                sender.hand_over(&lane.context, owner);
            }
        }
        if !work.is_none() {
            sender.send_work(*work);
        }
        // The pairs are the resolver's from here on.
        open.state = State::None;
        sender.send(Sample {
            call: open.call,
            // It is booked in the window that it began in.
            epoch: open.epoch,
            pairs: channel::Pairs::of(&mut open),
            work: None,
            inside: open.inside.take(),
            enclosing: open.enclosing.take(),
        });
        thread.keep(open);
        self.doze.rouse(|| self.wake());
    }

    /// What is resolved of the current window, and late of the one kept; `None` when the lock is
    /// not to be had within `limit`.
    pub(crate) fn stats(&self, limit: Duration) -> Option<(GpuTotals, GpuTotals)> {
        Some(self.totals().try_lock_for(limit)?.clone().into_totals())
    }

    /// Begins the next window. Returns the GPU totals of the window that ends, and what has arrived
    /// for the window kept before it.
    pub(crate) fn next_window(&self, policy: LatePolicy) -> (GpuTotals, GpuTotals) {
        // The epoch moves under the resolver's lock, so that no result of the new window is lost.
        let mut totals = self.totals().lock();
        totals.next_window(crate::stats::window_epoch::begin_next(), policy)
    }

    /// Clears the counts of failed driver calls, except of failures whose effect lasts.
    pub(crate) fn clear_failure_counts(&self) {
        if let Some(driver) = Driver::met() {
            driver.clear_failure_counts();
        }
    }

    pub(crate) fn devices(&self, limit: Duration) -> Vec<Device> {
        let devices = self.devices.try_lock_for(limit);
        let mut devices = devices.map_or_else(Vec::new, |devices| devices.clone());
        devices.sort_by_key(|device| device.ordinal);
        devices
    }

    pub(crate) fn floor_ns(&self, limit: Duration) -> Option<u64> {
        self.contexts.floor_ns(limit)
    }
}
