//! What is open on one thread: whose streams spans inside inherit, whose time holds theirs, whom sampling chose.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::thread::{self, ThreadId};

use cudarc::driver::CudaContext;

use super::context::{Context, Pair};
use super::lanes::{Lane, Lanes};
use super::pending::{Progress, Sender};
use super::stream::StreamRef;
use super::timing::Timing;
use crate::stats::call::{Fate, Untimed};
use crate::stats::clusters::Drawn;
use crate::stats::gpu_node::GpuCall;

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
    /// Why its own stream cannot be used; spans inside must not take one further out for it.
    pub(super) refused: Option<Fate>,
    /// The window it began in.
    pub(super) epoch: u32,
    /// Made when the first span inside begins on the same single stream, at once for futures.
    pub(super) inside: Option<Arc<Inside>>,
    pub(super) state: State,
}

/// What became of the call so far.
#[derive(Debug)]
pub(super) enum State {
    /// No call at all: a default stream, or a future's part between its polls.
    None,
    Not(Fate),
    Started {
        call: GpuCall,
        pairs: Pairs,
        /// Where the time goes that the enclosing span must not count as its own.
        enclosing: Option<Arc<Inside>>,
        thread: ThreadId,
    },
}

/// The pairs of a call, one for each lane.
#[derive(Debug)]
pub(super) enum Pairs {
    One(Pair),
    Many(Vec<Pair>),
}

impl Pairs {
    pub(super) fn as_slice(&self) -> &[Pair] {
        match self {
            Self::One(pair) => std::slice::from_ref(pair),
            Self::Many(pairs) => pairs,
        }
    }
}

/// A sampling decision.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chosen {
    pub(super) yes: bool,
    /// How many calls each chosen one stands for by its own site's `sample`.
    pub(super) own: u32,
    pub(super) drawn: Drawn,
}

/// GPU time of the spans inside one call, on its own single stream. Only the resolver reads and writes it.
#[derive(Debug, Default)]
pub(crate) struct Inside {
    ns: AtomicU64,
    /// One of them stands for several by its own sampling, so the sum can be more than the call.
    sampled: AtomicBool,
    state: AtomicU8,
}

/// How far the call is that the time lies inside of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Enclosing {
    /// Not resolved yet: it will look here.
    Waiting,
    /// Booked already: what comes late is to be taken from its self time.
    Booked,
    /// Without a time of its own.
    Void,
}

impl Inside {
    /// Adds the time of a span inside, and says what the enclosing call has done.
    pub(super) fn add(&self, ns: u64, stands_for: u32) -> Enclosing {
        let ns = ns.saturating_mul(u64::from(stands_for));
        if stands_for > 1 {
            self.sampled.store(true, Relaxed);
        }
        self.ns
            .store(self.ns.load(Relaxed).saturating_add(ns), Relaxed);
        match self.state.load(Relaxed) {
            0 => Enclosing::Waiting,
            1 => Enclosing::Booked,
            _ => Enclosing::Void,
        }
    }

    /// The time inside up to now, for the enclosing call of `ns`, which is being booked or not. Never more than that, unless
    /// sampling makes up for it elsewhere: futures that run beside each other overlap.
    pub(super) fn close(&self, booked: bool, ns: u64) -> u64 {
        self.state.store(if booked { 1 } else { 2 }, Relaxed);
        let inside = self.ns.load(Relaxed);
        match self.sampled.load(Relaxed) {
            true => inside,
            false => inside.min(ns),
        }
    }
}

impl Open {
    /// The entry for one poll of a future: what spans inside need to know, without the call itself.
    pub(crate) fn for_poll(&self) -> Self {
        Self {
            lanes: self.lanes.clone(),
            inside: self.inside.clone(),
            state: State::None,
            ..*self
        }
    }

    /// A default stream without a span, as `with_stream` sets it.
    pub(crate) fn default_stream(
        timing: &Timing,
        thread: &mut GpuThread,
        stream: &StreamRef<'_>,
    ) -> Option<Self> {
        let lane = timing.lane(thread, &stream.outliving(true), false).ok()?;
        Some(Self {
            site: u32::MAX,
            path: 0,
            lanes: Lanes::One(lane),
            chosen: None,
            timed: false,
            refused: None,
            epoch: crate::stats::epoch(),
            inside: None,
            state: State::None,
        })
    }

    /// Whether it will have a time in this window: one that began before a reset will not.
    fn is_timed(&self) -> bool {
        self.timed && self.epoch == crate::stats::epoch()
    }

    /// Whether it is timed on exactly this stream.
    fn times_alone(&self, lane: &Lane) -> bool {
        self.is_timed() && matches!(&self.lanes, Lanes::One(mine) if mine.is_same_stream(lane))
    }
}

/// One thread's part of GPU timing.
#[derive(Debug)]
pub(crate) struct GpuThread {
    /// Innermost last, each under its number.
    open: Vec<(u64, Open)>,
    next: u64,
    /// Contexts met by this thread. The `Weak` keeps an owner's address from being used again.
    contexts: Vec<(Weak<CudaContext>, Arc<Context>)>,
    sender: Option<(Sender, Arc<Progress>)>,
    /// Something was met for the first time since this was last asked.
    set_up: bool,
    random: fastrand::Rng,
    /// Whose this is. Kept, as asking the thread for it counts who holds the answer.
    pub(super) id: ThreadId,
}

impl GpuThread {
    pub(crate) fn new() -> Self {
        Self {
            open: Vec::new(),
            next: 1,
            contexts: Vec::new(),
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

    /// Whether anything is open.
    pub(crate) fn has_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Opens something for spans inside to see; the number takes it off again. Never 0.
    pub(crate) fn push(&mut self, open: Open) -> u64 {
        let number = self.next;
        self.next += 1;
        self.open.push((number, open));
        number
    }

    /// Takes off what was opened under `number`, wherever it stands: spans may end out of order.
    pub(crate) fn take(&mut self, number: u64) -> Option<Open> {
        let at = self.open.iter().rposition(|(known, _)| *known == number)?;
        Some(self.open.remove(at).1)
    }

    pub(super) fn known(&self, owner: &Arc<CudaContext>) -> Option<Arc<Context>> {
        let same = |known: &Weak<CudaContext>| known.as_ptr() == Arc::as_ptr(owner);
        let (_, context) = self.contexts.iter().find(|(known, _)| same(known))?;
        Some(Arc::clone(context))
    }

    pub(super) fn remember(&mut self, owner: Option<&Arc<CudaContext>>, context: &Arc<Context>) {
        if let Some(owner) = owner {
            self.set_up = true;
            self.contexts.retain(|(known, _)| known.strong_count() > 0);
            self.contexts
                .push((Arc::downgrade(owner), Arc::clone(context)));
        }
    }

    /// The enclosing span's first stream, if there is one.
    pub(super) fn inherit(&self, is_async: bool) -> Result<Lanes, Fate> {
        for (_, open) in self.open.iter().rev() {
            if let Some(fate) = open.refused {
                return Err(fate);
            }
            match open.lanes.as_slice().first() {
                // A future may outlive the span it inherits from, and with it a stream that nothing keeps.
                Some(lane) if is_async && lane.keep.is_none() => {
                    return Err(Fate::Untimed(Untimed::StreamUnsafe));
                }
                Some(lane) => return Ok(Lanes::One(lane.clone())),
                None => {}
            }
        }
        Ok(Lanes::NONE)
    }

    /// Whether sampling takes this call: at random for the outermost, as the enclosing one was for those inside, and in
    /// any case as the site's own `sample` draws.
    pub(super) fn choose(&mut self, global: u32, own: u32) -> Chosen {
        let inherited = self.open.iter().rev().find_map(|(_, open)| open.chosen);
        let Chosen { yes, mut drawn, .. } = inherited.unwrap_or_else(|| self.draw(global));
        let again = self.draw(own);
        if drawn.all == 1 {
            drawn = again.drawn;
        } else {
            drawn.all = drawn.all.saturating_mul(again.own);
        }
        Chosen {
            yes: yes && again.yes,
            own: again.own,
            drawn,
        }
    }

    /// Draws 1 in `n`; 0 is 1, of which nothing is drawn.
    fn draw(&mut self, n: u32) -> Chosen {
        let own = n.max(1);
        let (yes, drawn) = match own {
            1 => (true, Drawn::NOTHING),
            _ => {
                // 64 random bits: no other draw has them.
                let cluster = self.random.u64(..);
                let drawn = Drawn {
                    cluster,
                    first: own,
                    all: own,
                };
                (self.random.u32(..own) == 0, drawn)
            }
        };
        Chosen { yes, own, drawn }
    }

    /// Path and inner time of the nearest timed span on the same single stream, and the product of the weights of the
    /// spans between.
    pub(super) fn enclosing(&mut self, lanes: &Lanes) -> Option<(u32, Arc<Inside>, u32)> {
        let Lanes::One(lane) = lanes else { return None };
        let at = self
            .open
            .iter()
            .rposition(|(_, open)| open.times_alone(lane))?;
        let between = self.open.get(at + 1..).unwrap_or_default();
        let weights = between.iter().filter_map(|(_, open)| open.chosen);
        let weight = weights.fold(1_u32, |product, chosen| product.saturating_mul(chosen.own));
        let (_, open) = self.open.get_mut(at)?;
        let inside = open.inside.get_or_insert_default();
        Some((open.path, Arc::clone(inside), weight))
    }

    /// Whether a call of `site` is being timed on all of these streams.
    pub(super) fn is_inside(&self, lanes: &Lanes, site: u32) -> bool {
        let on_all = |open: &Open| lanes.as_slice().iter().all(|lane| open.lanes.has(lane));
        let mut open = self.open.iter();
        open.any(|(_, open)| open.site == site && open.is_timed() && on_all(open))
    }

    pub(super) fn sender(&mut self, timing: &Timing) -> &mut Sender {
        self.set_up |= self.sender.is_none();
        let (sender, _) = self.sender.get_or_insert_with(|| timing.open_ring());
        sender
    }
}
