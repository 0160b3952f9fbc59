//! One thread's part of GPU timing: its open frames, its contexts and its ring to the resolver.

use std::thread::{self, ThreadId};

use crate::cupti::call_stack::{ProfiledCall, ReservedIds};
use crate::gpu::events::thread_cache::MetContexts;
use crate::gpu::frame::{Open, Pairs, State};
use crate::gpu::frame_stack::{Frame, FrameStack, FrameToken};
use crate::gpu::resolver::channel::Sender;
use crate::gpu::stream::resolve::Lanes;
use crate::gpu::timer::Timing;
use crate::site::Site;

/// Entries that a thread keeps for calls to come.
const SPARE_KEPT: usize = 64;

/// One thread's part of GPU timing.
#[derive(Debug)]
pub(crate) struct GpuThread {
    pub(super) frames: FrameStack<Box<Open>>,
    /// For calls that CUPTI's records are attributed to.
    ids: ReservedIds,
    /// Used again, so that a call neither allocates nor is copied about: what is moved is the box.
    #[allow(clippy::vec_box)]
    spare: Vec<Box<Open>>,
    pub(super) contexts: MetContexts,
    sender: Option<Sender>,
    /// Something was met for the first time since this was last asked.
    set_up: bool,
    pub(super) random: fastrand::Rng,
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

    /// A call of `site` on `path` that CUPTI's records can be attributed to. `None`: CUPTI is off.
    pub(crate) fn begin_call(&mut self, site: &Site, path: u32) -> Option<ProfiledCall> {
        self.frames.begin_call(site, path, &mut self.ids)
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
        open.lender = None;
        self.spare.push(open);
    }

    #[inline]
    pub(super) fn sender(&mut self, timing: &Timing) -> &mut Sender {
        self.set_up |= self.sender.is_none();
        self.sender.get_or_insert_with(|| timing.open_ring())
    }
}
