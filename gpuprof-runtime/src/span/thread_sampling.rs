//! Which of a thread's calls are timed, as far as that is known before their streams are looked at.

use std::cell::Cell;

use crate::clock;
use crate::collector::collector;
use crate::os::random;
use crate::site::Site;
use crate::stats::path_counters::PathCounters;
use crate::stats::sampling_allowance::Allowance;
use crate::stats::sampling_decisions::CallRate;
use crate::stats::thread_counters::ThreadCounters;
use crate::stats::window_epoch::WriterEpoch;

/// See the module.
#[derive(Debug)]
pub(crate) struct ThreadSampling {
    /// Calls are drawn as if the innermost one around them stood for so many; 0 if it is left out.
    /// `None`: sampling has decided on no call around them.
    weight: Cell<Option<u32>>,
    /// The path of the outermost call with a stream.
    outermost: Cell<Option<&'static PathCounters>>,
    /// State of the generator of random numbers; 0 before the first.
    random: Cell<u64>,
}

impl ThreadSampling {
    pub(super) const fn new() -> Self {
        Self {
            weight: Cell::new(None),
            outermost: Cell::new(None),
            random: Cell::new(0),
        }
    }

    /// The innermost call on which sampling has decided has this `weight`.
    #[inline]
    pub(super) fn note(&self, weight: Option<u32>) {
        self.weight.set(weight);
    }

    /// Whether sampling has decided on a call around one that begins now.
    #[inline]
    pub(super) fn is_inside(&self) -> bool {
        self.weight.get().is_some()
    }

    #[inline]
    pub(super) fn outermost(&self) -> Option<&'static PathCounters> {
        self.outermost.get()
    }

    /// Calls from now on are inside one of this path. `None`: it is not known, or there is none.
    /// Returns that of before.
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
        let rate = sampling.of_call(id, site.meta.sample, history, allowance);
        if is_wanted && !rate.function.is_sampled() {
            node.sampling.take_wanted();
        }
        rate
    }

    /// Draws for a call of this rate, if it can be left out without asking the driver anything.
    /// `None`: it is left out.
    #[inline]
    pub(super) fn draw(&self, mut rate: CallRate) -> Option<CallRate> {
        if !rate.function.asks() {
            let weight = self.weight.get().unwrap_or(1);
            let one_in = rate.function.one_in_inside(weight);
            rate.is_drawn = weight > 0 && (one_in <= 1 || self.is_drawn(one_in));
            return rate.is_drawn.then_some(rate);
        }
        Some(rate)
    }

    /// True for one call in `one_in`, at random.
    #[inline]
    fn is_drawn(&self, one_in: u32) -> bool {
        let mut random = match self.random.get() {
            0 => random::generator(),
            state => fastrand::Rng::with_seed(state),
        };
        let is_drawn = random.u32(..one_in) == 0;
        self.random.set(random.get_seed());
        is_drawn
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
