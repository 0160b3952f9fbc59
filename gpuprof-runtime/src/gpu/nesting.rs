//! How a call lies in the timed spans around it, on its streams.

use std::sync::Arc;

use crate::gpu::child_time::Inside;
use crate::gpu::frame::Open;
use crate::gpu::gpu_thread::GpuThread;
use crate::gpu::stream::resolve::Lanes;
use crate::stats::path_ids::ROOT;

/// How a call lies in the timed spans around it.
#[derive(Debug)]
pub(super) struct Around {
    /// The nearest on the same single stream: its path, where the time goes that it must not count
    /// as its own, and the product of the weights of the spans between.
    pub(super) subtract: Option<(u32, Arc<Inside>, u32)>,
    /// The nearest on all streams of the call: its time holds the call's. [`ROOT`], as in the next,
    /// for none.
    pub(super) enclosing_timed: u32,
    /// The nearest on some of them that nothing can be taken from: where streams overlap, times do
    /// not add up.
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

impl GpuThread {
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
}
