//! What is open on one thread: whose streams spans inside inherit, whose time holds theirs, whom sampling chose.

use std::sync::Arc;
use std::thread::{self, ThreadId};

use crate::cupti::call_stack::{ProfiledCall, ReservedIds};
use crate::gpu::child_time::Inside;
use crate::gpu::events::pool::Pair;
use crate::gpu::events::thread_cache::MetContexts;
use crate::gpu::frame_stack::{Frame, FrameStack, FrameToken};
use crate::gpu::graph::capture::{InGraph, Inside as InsideGraph};
use crate::gpu::resolver::channel::Sender;
use crate::gpu::stream::resolve::{Lane, Lanes};
use crate::gpu::stream::stream_ref::StreamRef;
use crate::gpu::timer::Timing;
use crate::site::Site;
use crate::stats::call::{GpuOutcome, UntimedReason};
use crate::stats::gpu_totals::TimedCall;
use crate::stats::path_ids::ROOT;
use crate::stats::sampling::SamplingDraw;

/// Entries that a thread keeps for calls to come.
const SPARE_KEPT: usize = 64;

/// A span that is open on this thread, or a `with_stream`.
#[derive(Debug)]
pub(crate) struct Open {
    pub(super) site: u32,
    pub(super) path: u32,
    /// Spans inside inherit the first.
    pub(super) lanes: Lanes,
    /// What sampling decided; spans inside follow. `None`: it had nothing to decide.
    pub(super) chosen: Option<Chosen>,
    /// It has its start events.
    pub(super) timed: bool,
    /// The window it began in.
    pub(super) epoch: u32,
    /// Made when the first span inside begins on the same single stream, at once for futures.
    pub(super) inside: Option<Arc<Inside>>,
    pub(super) state: State,
    /// The call as it goes to the resolver, of one that is [`Started`](State::Started); so are the next three. Beside the state
    /// and not in it: what is written here stays where it is.
    pub(super) call: TimedCall,
    pub(super) pairs: Pairs,
    /// Where the time goes that the enclosing span must not count as its own.
    pub(super) enclosing: Option<Arc<Inside>>,
    /// Where it began.
    pub(super) thread: Option<ThreadId>,
}

/// What became of the call so far.
#[derive(Debug)]
pub(super) enum State {
    /// No call at all: a default stream, or a future's part between its polls.
    None,
    Untimed(GpuOutcome),
    /// Untimed because its own stream cannot be used. Spans inside must not inherit one from further
    /// out instead.
    Unusable(GpuOutcome),
    /// Its start events are recorded.
    Started,
    /// Its start event stands in the graph that its stream is being captured to.
    InGraph(Box<InGraph>),
}

/// The pairs of a call, one for each lane.
#[derive(Debug)]
pub(super) enum Pairs {
    One(Pair),
    Many(Vec<Pair>),
}

impl Pairs {
    pub(super) const NONE: Self = Self::Many(Vec::new());

    #[inline]
    fn is_none(&self) -> bool {
        matches!(self, Self::Many(none) if none.capacity() == 0)
    }

    pub(super) fn as_slice(&self) -> &[Pair] {
        match self {
            Self::One(pair) => std::slice::from_ref(pair),
            Self::Many(pairs) => pairs,
        }
    }
}

/// How a call lies in the timed spans around it.
#[derive(Debug)]
pub(super) struct Around {
    /// The nearest on the same single stream: its path, where the time goes that it must not count as its own, and the product
    /// of the weights of the spans between.
    pub(super) subtract: Option<(u32, Arc<Inside>, u32)>,
    /// The nearest on all streams of the call: its time holds the call's. [`ROOT`], as in the next, for none.
    pub(super) enclosing_timed: u32,
    /// The nearest on some of them that nothing can be taken from: where streams overlap, times do not add up.
    pub(super) partly_overlaps: u32,
}

impl Around {
    /// There are none.
    pub(super) const NONE: Self = Self {
        subtract: None,
        enclosing_timed: ROOT,
        partly_overlaps: ROOT,
    };
}

/// How many calls of a site each timed one is to stand for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Own {
    /// By the site's own `sample`, of those that are chosen around it; 0 or 1 for none.
    Stated(u32),
    /// With whatever was chosen around it.
    Aimed(u32),
}

impl Own {
    #[inline]
    pub(super) fn is_sampled(self) -> bool {
        let (Self::Stated(n) | Self::Aimed(n)) = self;
        n > 1
    }
}

/// A sampling decision.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chosen {
    pub(super) yes: bool,
    /// How many calls each chosen one stands for by its own draw.
    pub(super) own: u32,
    pub(super) draw: SamplingDraw,
}

impl Chosen {
    /// Nothing was draw: every call is timed.
    const ALL: Self = Self {
        yes: true,
        own: 1,
        draw: SamplingDraw::UNSAMPLED,
    };

    /// Nothing was draw, and the call is not timed.
    pub(super) const NO: Self = Self {
        yes: false,
        own: 1,
        draw: SamplingDraw::UNSAMPLED,
    };
}

/// What is dropped without an end has no end event, as when a thread is taking its thread-locals down: its pairs go back.
impl Drop for Open {
    fn drop(&mut self) {
        self.give_back();
    }
}

impl Open {
    #[inline]
    fn give_back(&self) {
        if let State::Started = self.state {
            let lanes = self.lanes.as_slice().iter();
            let started = lanes.zip(self.pairs.as_slice());
            started.for_each(|(lane, pair)| lane.context.give(*pair));
            if let Some(inside) = &self.inside {
                inside.close(false, 0);
            }
        }
    }
}

impl Open {
    #[cold]
    fn boxed() -> Box<Self> {
        Box::new(Self {
            site: u32::MAX,
            path: ROOT,
            lanes: Lanes::NONE,
            chosen: None,
            timed: false,
            epoch: 0,
            inside: None,
            state: State::None,
            call: TimedCall::EMPTY,
            pairs: Pairs::NONE,
            enclosing: None,
            thread: None,
        })
    }

    /// For an entry that is blank: it has nothing to let go of, which need not be found out.
    #[inline]
    pub(super) fn set_lanes(&mut self, lanes: Lanes) {
        std::mem::forget(std::mem::replace(&mut self.lanes, lanes));
    }

    /// The same.
    #[inline]
    pub(super) fn set_pairs(&mut self, pairs: Pairs) {
        std::mem::forget(std::mem::replace(&mut self.pairs, pairs));
    }

    /// The entry for one poll of a future: what spans inside need to know, without the call itself.
    pub(crate) fn for_poll(&self, thread: &mut GpuThread) -> Box<Self> {
        let mut open = thread.blank();
        open.site = self.site;
        open.path = self.path;
        open.lanes = self.lanes.clone();
        open.chosen = self.chosen;
        open.timed = self.timed && !self.is_on_another_stream(thread.id);
        if let State::Unusable(outcome) = self.state {
            open.state = State::Unusable(outcome);
        }
        open.epoch = self.epoch;
        open.inside = self.inside.clone();
        open
    }

    /// Whether its stream's handle stands for another stream on this thread, so that nothing here is in its time.
    fn is_on_another_stream(&self, here: ThreadId) -> bool {
        let mut lanes = self.lanes.as_slice().iter();
        self.thread.is_some_and(|thread| thread != here)
            && lanes.any(|lane| lane.stream == crate::gpu::driver::handles::Stream::PER_THREAD)
    }

    /// A default stream without a span, as `with_stream` sets it.
    pub(crate) fn default_stream(
        timing: &Timing,
        thread: &mut GpuThread,
        stream: &StreamRef<'_>,
    ) -> Option<Box<Self>> {
        let lane = timing.lane(thread, stream, false).ok()?;
        let mut open = thread.blank();
        open.site = u32::MAX;
        open.path = ROOT;
        open.lanes = Lanes::One(lane);
        open.epoch = crate::stats::epoch::current();
        Some(open)
    }

    /// Whether it will have a time in this window: one that began before a reset will not.
    fn is_timed(&self) -> bool {
        self.timed && self.epoch == crate::stats::epoch::current()
    }

    /// Whether it is timed on exactly this stream.
    fn times_alone(&self, lane: &Lane) -> bool {
        self.is_timed() && matches!(&self.lanes, Lanes::One(mine) if mine.is_same_stream(lane))
    }
}

/// One thread's part of GPU timing.
#[derive(Debug)]
pub(crate) struct GpuThread {
    frames: FrameStack<Box<Open>>,
    /// For calls that CUPTI's records are attributed to.
    ids: ReservedIds,
    /// Used again, so that a call neither allocates nor is copied about: what is moved is the box.
    #[allow(clippy::vec_box)]
    spare: Vec<Box<Open>>,
    pub(super) contexts: MetContexts,
    sender: Option<Sender>,
    /// Something was met for the first time since this was last asked.
    set_up: bool,
    random: fastrand::Rng,
    /// Whose this is. Kept, as asking the thread for it counts who holds the answer.
    pub(super) id: ThreadId,
}

impl GpuThread {
    pub(crate) fn new() -> Self {
        Self {
            frames: FrameStack::new(),
            ids: ReservedIds::default(),
            spare: Vec::new(),
            contexts: MetContexts::default(),
            sender: None,
            set_up: false,
            random: fastrand::Rng::new(),
            id: thread::current().id(),
        }
    }

    /// Whether the work since the last call was partly set-up, done once.
    pub(crate) fn take_set_up(&mut self) -> bool {
        std::mem::take(&mut self.set_up)
    }

    pub(super) fn note_set_up(&mut self, set_up: bool) {
        self.set_up |= set_up;
    }

    /// Whether any open frame has a GPU part, so that spans inside could inherit its stream.
    #[inline]
    pub(crate) fn has_open(&self) -> bool {
        self.frames.is_on_gpu()
    }

    /// Pushes a frame for the spans inside to see.
    #[inline]
    pub(crate) fn push(
        &mut self,
        gpu: Option<Box<Open>>,
        call: Option<ProfiledCall>,
    ) -> FrameToken {
        self.frames.push(Frame { gpu, call })
    }

    /// Removes a frame. `None`: it is gone already, because spans ended out of order.
    #[inline]
    pub(crate) fn take(&mut self, token: FrameToken) -> Option<Frame<Box<Open>>> {
        self.frames.take(token)
    }

    /// Removes the frame of a `with_stream` or of a future's poll.
    pub(crate) fn close(&mut self, token: FrameToken) {
        if let Some(open) = self.take(token).and_then(|frame| frame.gpu) {
            self.recycle(open);
        }
    }

    /// A call of `site` that CUPTI's records can be attributed to. `None`: CUPTI is off.
    pub(crate) fn begin_call(&mut self, site: &Site) -> Option<ProfiledCall> {
        self.frames.begin_call(site, &mut self.ids)
    }

    /// An entry with nothing in it.
    #[inline]
    pub(super) fn blank(&mut self) -> Box<Open> {
        self.spare.pop().unwrap_or_else(Open::boxed)
    }

    /// Takes an entry for another call.
    pub(super) fn recycle(&mut self, mut open: Box<Open>) {
        open.give_back();
        open.state = State::None;
        self.keep(open);
    }

    /// The same for one that has nothing to give back.
    #[inline]
    pub(super) fn keep(&mut self, mut open: Box<Open>) {
        if self.spare.len() >= SPARE_KEPT {
            return;
        }
        // Most have handed theirs on.
        if !open.lanes.is_none() {
            open.lanes = Lanes::NONE;
        }
        if !open.pairs.is_none() {
            open.pairs = Pairs::NONE;
        }
        open.chosen = None;
        open.timed = false;
        open.inside = None;
        open.enclosing = None;
        open.thread = None;
        self.spare.push(open);
    }

    /// The enclosing span's first stream, if there is one.
    pub(super) fn inherit(&self, is_async: bool) -> Result<Lanes, GpuOutcome> {
        for (_, open) in self.frames.gpu().rev() {
            if let State::Unusable(outcome) = open.state {
                return Err(outcome);
            }
            match open.lanes.as_slice().first() {
                // A future may outlive the span it inherits from, and with it a stream that nothing keeps.
                Some(lane) if is_async && lane.keep.is_none() => {
                    return Err(GpuOutcome::Untimed(UntimedReason::StreamUnsafe));
                }
                Some(lane) => return Ok(Lanes::One(lane.clone())),
                None => {}
            }
        }
        Ok(Lanes::NONE)
    }

    /// Whether sampling takes this call: at random for the outermost, as the enclosing one was for those inside, and in
    /// any case as the site's own draw says.
    #[inline]
    pub(super) fn choose(&mut self, global: u32, own: Own) -> Chosen {
        if !self.has_open() && global <= 1 && !own.is_sampled() {
            return Chosen::ALL;
        }
        let inherited = self.frames.gpu().rev().find_map(|(_, open)| open.chosen);
        self.choose_inside(inherited, global, own)
    }

    /// The same for a call inside one of which `outer` was decided.
    #[inline]
    pub(super) fn choose_inside(&mut self, outer: Option<Chosen>, global: u32, own: Own) -> Chosen {
        let Chosen { yes, mut draw, .. } = outer.unwrap_or_else(|| self.draw(global));
        let again = self.draw(match own {
            Own::Stated(n) => n,
            Own::Aimed(n) => n.div_ceil(draw.weight),
        });
        if draw.weight == 1 {
            draw = again.draw;
        } else {
            draw.weight = draw.weight.saturating_mul(again.own);
        }
        Chosen {
            yes: yes && again.yes,
            own: again.own,
            draw,
        }
    }

    /// Draws 1 in `n`; 0 is 1, of which nothing is draw.
    #[inline]
    fn draw(&mut self, n: u32) -> Chosen {
        let own = n.max(1);
        let (yes, draw) = match own {
            1 => (true, SamplingDraw::UNSAMPLED),
            _ => {
                // 64 random bits: no other draw has them.
                let cluster = self.random.u64(..);
                let draw = SamplingDraw {
                    cluster,
                    cluster_rate: own,
                    weight: own,
                };
                (self.random.u32(..own) == 0, draw)
            }
        };
        Chosen { yes, own, draw }
    }

    /// How a call on these streams lies in the spans around it.
    #[inline]
    pub(super) fn around(&mut self, lanes: &Lanes) -> Around {
        let single = match lanes {
            Lanes::One(lane) => Some(lane),
            Lanes::Many(_) => None,
        };
        let mut around = Around::NONE;
        let mut at = None;
        for (position, open) in self.frames.gpu().rev() {
            if !open.is_timed() {
                continue;
            }
            if single.is_some_and(|lane| open.times_alone(lane)) {
                if around.enclosing_timed == ROOT {
                    around.enclosing_timed = open.path;
                }
                at = Some(position);
                break;
            }
            let mut lanes = lanes.as_slice().iter();
            if around.partly_overlaps == ROOT && lanes.clone().any(|lane| open.lanes.has(lane)) {
                around.partly_overlaps = open.path;
            }
            if around.enclosing_timed == ROOT && lanes.all(|lane| open.lanes.has(lane)) {
                around.enclosing_timed = open.path;
            }
        }
        around.subtract = at.and_then(|at| self.subtract(at));
        around
    }

    fn subtract(&mut self, at: usize) -> Option<(u32, Arc<Inside>, u32)> {
        let between = self
            .frames
            .gpu()
            .rev()
            .take_while(|(position, _)| *position > at);
        let weights = between.filter_map(|(_, open)| open.chosen);
        let weight = weights.fold(1_u32, |product, chosen| product.saturating_mul(chosen.own));
        let open = self.frames.gpu_mut(at)?;
        let inside = open.inside.get_or_insert_default();
        Some((open.path, Arc::clone(inside), weight))
    }

    /// Whether a call of `site` is being timed on all of these streams.
    #[inline]
    pub(super) fn is_inside(&self, lanes: &Lanes, site: u32) -> bool {
        let on_all = |open: &Open| lanes.as_slice().iter().all(|lane| open.lanes.has(lane));
        let mut frames = self.frames.gpu();
        frames.any(|(_, open)| open.site == site && open.is_timed() && on_all(open))
    }

    /// Where a call of `site` on `lane` stands among the calls that `capture` has under way on this thread.
    pub(super) fn inside_capture(&self, capture: u64, lane: &Lane, site: u32) -> InsideGraph {
        let in_graph = self.frames.gpu().rev().filter_map(|(_, open)| {
            let State::InGraph(in_graph) = &open.state else {
                return None;
            };
            in_graph.is_of(capture).then_some((in_graph.at, &**open))
        });
        let at = |(at, _): (usize, &Open)| at;
        let on_lane = |(_, open): &(usize, &Open)| open.lanes.has(lane);
        InsideGraph {
            caller: in_graph.clone().next().map(at),
            enclosing: in_graph.clone().find(on_lane).map(at),
            outermost: !in_graph
                .clone()
                .any(|(at, open)| open.site == site && on_lane(&(at, open))),
        }
    }

    #[inline]
    pub(super) fn sender(&mut self, timing: &Timing) -> &mut Sender {
        self.set_up |= self.sender.is_none();
        self.sender.get_or_insert_with(|| timing.open_ring())
    }
}
