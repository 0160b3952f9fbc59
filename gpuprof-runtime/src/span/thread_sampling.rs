//! Which of a thread's calls are timed, as far as that is known before their streams are looked at.

use std::cell::Cell;

use crate::clock;
use crate::collector::collector;
use crate::site::Site;
use crate::stats::path_counters::PathCounters;
use crate::stats::sampling_allowance::Allowance;
use crate::stats::sampling_decisions::{CallRate, CallSampling, DecisionStage, ThreadDecisions};
use crate::stats::thread_counters::ThreadCounters;
use crate::stats::window_epoch::WriterEpoch;

/// See the module.
#[derive(Debug)]
pub(crate) struct ThreadSampling {
    pub(super) decisions: ThreadDecisions,
    /// The path of the outermost call with a stream.
    outermost: Cell<Option<&'static PathCounters>>,
}

impl ThreadSampling {
    pub(super) const fn new() -> Self {
        Self {
            decisions: ThreadDecisions::new(),
            outermost: Cell::new(None),
        }
    }

    #[inline]
    pub(super) fn outermost(&self) -> Option<&'static PathCounters> {
        self.outermost.get()
    }

    /// Sets the path of the outermost call with a stream (`None`: unknown, or no such call).
    /// Returns the previous one.
    #[inline]
    pub(super) fn set_outermost(
        &self,
        node: Option<&'static PathCounters>,
    ) -> Option<&'static PathCounters> {
        self.outermost.replace(node)
    }

    /// At what rate a call of `site` is taken that begins on `node`.
    #[inline]
    pub(super) fn rate(
        &self,
        site: &Site,
        node: &'static PathCounters,
        writer: WriterEpoch,
        counters: Option<&ThreadCounters>,
        is_outermost: bool,
    ) -> CallRate {
        if is_outermost {
            self.outermost.set(Some(node));
        }
        let mut is_wanted = false;
        let history = || {
            let history = node.history(writer, is_outermost);
            is_wanted = history.is_wanted;
            history
        };
        let allowance = |session| {
            let now = || clock::rough_ns(clock::now());
            counters.map_or(Allowance::NONE, |known| {
                known.spent.allowance(session, now())
            })
        };
        // Without a number it is not timed.
        let id = site.id().unwrap_or(u32::MAX);
        let sampling = &collector().gpu.sampling;
        let rate = sampling.call_rate(id, site.meta.sample, history, allowance);
        if is_wanted && !rate.function.is_sampled() {
            node.sampling.take_wanted();
        }
        rate
    }

    /// How sampling takes a call of this rate. `None`: it is left out, with all inside it, before
    /// the driver is asked anything. `has_frame`: CUPTI's records are attributed to all calls, so
    /// each has a frame and is decided on there.
    #[inline]
    pub(super) fn begin(&self, rate: CallRate, has_frame: bool) -> Option<CallSampling<'_>> {
        let decisions = &self.decisions;
        let made = (!has_frame && !rate.function.asks())
            .then(|| decisions.decide(rate, DecisionStage::BeforeStreams));
        let is_taken = made.is_none_or(|made| made.is_timed);
        is_taken.then_some(CallSampling {
            rate,
            decisions,
            made,
        })
    }

    /// Sampling leaves out a call of `site`.
    #[inline]
    pub(super) fn miss(&self, site: &Site, node: &PathCounters) {
        // A function with a rate of its own has few timed calls by that.
        if site.meta.sample == 0
            && let Some(outermost) = self.outermost.get()
        {
            node.miss(outermost);
        }
    }

    /// A call has taken so long on the CPU, and is not recorded yet. `is_inside`: it is in an
    /// outermost call, or it is that.
    #[inline]
    pub(super) fn watch_outliers(&self, node: &PathCounters, cpu_ticks: u64, is_inside: bool) {
        if let Some(outermost) = self.outermost.get()
            && (is_inside || std::ptr::eq(outermost, node))
        {
            node.watch_outliers(cpu_ticks, outermost);
        }
    }
}
