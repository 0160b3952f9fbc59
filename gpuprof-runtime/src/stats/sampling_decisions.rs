//! Which calls are timed: the decision for one call, given the decisions around it.

use std::cell::Cell;

use crate::os::random;

/// The sampling decision for a timed call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SamplingDraw {
    /// Identifies the first draw: shared by the calls that it decided on, and no others.
    pub(crate) cluster: u64,
    /// One cluster in this many is timed.
    pub(crate) cluster_rate: u32,
    /// How many calls this one represents by all draws made for it.
    pub(crate) weight: u32,
}

impl SamplingDraw {
    /// No draw was made: the call represents itself.
    pub(crate) const UNSAMPLED: Self = Self {
        cluster: 0,
        cluster_rate: 1,
        weight: 1,
    };
}

/// What a thread has seen of a call path before a call.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CallHistory {
    /// Calls that ended.
    pub(crate) calls: u64,
    /// Of these, the calls of this window.
    pub(crate) calls_of_window: u64,
    /// The call is outermost, and of the path or of one inside it few calls are timed.
    pub(crate) is_wanted: bool,
}

/// How many calls of a function each timed one is to stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FunctionRate {
    /// By the function's own `sample`, of those that are timed around it; 0 or 1 for none.
    Stated(u32),
    /// With whatever was drawn around it.
    Adaptive {
        one_in: u32,
        /// The weight that nested calls inherit. It is more than `one_in` if this call is timed
        /// more often than it needs itself, because a path inside it has few timed calls.
        inside: u32,
        /// The driver is asked whether a call that is left out is captured.
        asks: bool,
    },
}

impl FunctionRate {
    pub(crate) const EVERY_CALL: Self = Self::Adaptive {
        one_in: 1,
        inside: 1,
        asks: true,
    };

    #[inline]
    pub(crate) fn is_sampled(self) -> bool {
        let (Self::Stated(n) | Self::Adaptive { one_in: n, .. }) = self;
        n > 1
    }

    /// Whether nothing is drawn for a call, nor because of it for calls inside.
    #[inline]
    pub(crate) fn is_every_call(self) -> bool {
        !self.is_sampled() && self.inside() <= 1
    }

    /// Whether the driver is asked about a call that is left out.
    #[inline]
    pub(crate) fn asks(self) -> bool {
        !matches!(self, Self::Adaptive { asks: false, .. })
    }

    /// One call in how many is drawn, where one in `weight` was drawn around it.
    #[inline]
    pub(crate) fn one_in_inside(self, weight: u32) -> u32 {
        match self {
            Self::Stated(n) => n,
            Self::Adaptive { one_in, .. } => one_in.div_ceil(weight.max(1)),
        }
    }

    #[inline]
    fn inside(self) -> u32 {
        match self {
            Self::Stated(_) => 1,
            Self::Adaptive { inside, .. } => inside,
        }
    }
}

/// At what rate sampling takes a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallRate {
    /// How many outermost calls each timed one is to stand for; 0 if that is automatic.
    pub(crate) session: u32,
    pub(crate) function: FunctionRate,
}

/// A sampling decision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SamplingDecision {
    pub(crate) is_timed: bool,
    /// How many calls each timed one stands for by its own draw.
    pub(crate) own_weight: u32,
    /// Calls inside are drawn as if it stood for so many.
    pub(crate) inside: u32,
    /// The weight of this call in the estimate of captured calls, as some calls never asked the
    /// driver.
    pub(crate) stands_for: u32,
    /// That weight for a nested call that asks.
    stands_for_inside: u32,
    pub(crate) draw: SamplingDraw,
}

impl SamplingDecision {
    /// Nothing was drawn: every call is timed.
    pub(crate) const ALL: Self = Self {
        is_timed: true,
        own_weight: 1,
        inside: 1,
        stands_for: 1,
        stands_for_inside: 1,
        draw: SamplingDraw::UNSAMPLED,
    };

    /// Decides on one call: at random for the outermost, as the enclosing one was for those inside,
    /// and in any case as the function's own rate says.
    #[inline]
    fn make(
        random: &mut fastrand::Rng,
        outer: Option<Self>,
        rate: CallRate,
        stage: DecisionStage,
    ) -> Self {
        let function = rate.function;
        let outer = outer.unwrap_or_else(|| Self::draw(random, rate.session));
        let mut draw = outer.draw;
        let again = Self::draw(random, function.one_in_inside(outer.inside));
        if draw.weight == 1 {
            draw = again.draw;
        } else {
            draw.weight = draw.weight.saturating_mul(again.own_weight);
        }
        let stands_for = if function.asks() {
            outer.stands_for_inside
        } else {
            draw.weight
        };
        // What is inside a call that is left out before anything is asked does not ask either.
        let stands_for_inside = match stage {
            DecisionStage::BeforeStreams => stands_for,
            DecisionStage::WithStreams => outer.stands_for_inside,
        };
        Self {
            is_timed: outer.is_timed && again.is_timed,
            own_weight: again.own_weight,
            inside: (outer.inside.saturating_mul(again.own_weight)).max(function.inside()),
            stands_for,
            stands_for_inside,
            draw,
        }
    }

    /// Draws 1 in `n`; 0 is 1, of which nothing is drawn.
    #[inline]
    fn draw(random: &mut fastrand::Rng, n: u32) -> Self {
        if n <= 1 {
            return Self::ALL;
        }
        Self {
            is_timed: random.u32(..n) == 0,
            own_weight: n,
            inside: n,
            stands_for: 1,
            stands_for_inside: 1,
            draw: SamplingDraw {
                // 64 random bits: no other draw has them.
                cluster: random.u64(..),
                cluster_rate: n,
                weight: n,
            },
        }
    }
}

/// When a call is decided on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DecisionStage {
    /// Before its streams are looked at: if it is left out, so is all inside it, and the driver is
    /// asked nothing.
    BeforeStreams,
    /// Once it is known that it has a stream.
    WithStreams,
}

/// What decides on the calls of one thread.
#[derive(Debug)]
pub(crate) struct ThreadDecisions {
    /// On the innermost call that sampling has decided on. `None`: there is none.
    around: Cell<Option<SamplingDecision>>,
    /// State of the generator of random numbers; 0 before the first.
    random: Cell<u64>,
}

impl ThreadDecisions {
    pub(crate) const fn new() -> Self {
        Self {
            around: Cell::new(None),
            random: Cell::new(0),
        }
    }

    /// The same with numbers that begin with `seed`, which is not 0.
    #[cfg(test)]
    pub(crate) fn with_seed(seed: u64) -> Self {
        Self {
            around: Cell::new(None),
            random: Cell::new(seed),
        }
    }

    /// Calls from now on are inside one that was decided on so.
    #[inline]
    pub(crate) fn set_around(&self, around: Option<SamplingDecision>) {
        self.around.set(around);
    }

    /// Whether sampling has decided on a call around one that begins now.
    #[inline]
    pub(crate) fn is_inside(&self) -> bool {
        self.around.get().is_some()
    }

    /// Whether sampling takes a call.
    #[inline(always)]
    pub(crate) fn decide(&self, rate: CallRate, stage: DecisionStage) -> SamplingDecision {
        let around = self.around.get();
        if around.is_none() && rate.session <= 1 && rate.function.is_every_call() {
            SamplingDecision::ALL
        } else {
            self.make(around, rate, stage)
        }
    }

    #[inline(never)]
    fn make(
        &self,
        around: Option<SamplingDecision>,
        rate: CallRate,
        stage: DecisionStage,
    ) -> SamplingDecision {
        let mut random = match self.random.get() {
            0 => random::generator(),
            state => fastrand::Rng::with_seed(state),
        };
        let decision = SamplingDecision::make(&mut random, around, rate, stage);
        self.random.set(random.get_seed());
        decision
    }
}

/// How sampling takes a call whose streams are not known yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallSampling<'a> {
    pub(crate) rate: CallRate,
    pub(crate) decisions: &'a ThreadDecisions,
    /// The decision, if it was made before the streams were looked at.
    pub(crate) made: Option<SamplingDecision>,
}

impl CallSampling<'_> {
    /// Whether sampling takes the call, which has a stream.
    #[inline(always)]
    pub(crate) fn decide(&self) -> SamplingDecision {
        let decide = || self.decisions.decide(self.rate, DecisionStage::WithStreams);
        self.made.unwrap_or_else(decide)
    }
}
