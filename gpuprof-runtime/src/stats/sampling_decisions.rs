//! Which calls are timed: the decision for one call, given the decisions around it.

use super::sampling_estimates::SamplingDraw;

/// How many calls of a function each timed one is to stand for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FunctionRate {
    /// By the function's own `sample`, of those that are timed around it; 0 or 1 for none.
    Stated(u32),
    /// With whatever was drawn around it.
    Adaptive(u32),
}

impl FunctionRate {
    #[inline]
    pub(crate) fn is_sampled(self) -> bool {
        let (Self::Stated(n) | Self::Adaptive(n)) = self;
        n > 1
    }
}

/// A sampling decision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decision {
    pub(crate) is_timed: bool,
    /// How many calls each timed one stands for by its own draw.
    pub(crate) own_weight: u32,
    pub(crate) draw: SamplingDraw,
}

impl Decision {
    /// Nothing was drawn: every call is timed.
    pub(crate) const ALL: Self = Self {
        is_timed: true,
        own_weight: 1,
        draw: SamplingDraw::UNSAMPLED,
    };

    /// Decides on one call: at random for the outermost, as the enclosing one was for those inside,
    /// and in any case as the function's own rate says.
    #[inline]
    pub(crate) fn make(
        random: &mut fastrand::Rng,
        outer: Option<Self>,
        global: u32,
        rate: FunctionRate,
    ) -> Self {
        let outer = outer.unwrap_or_else(|| Self::draw(random, global));
        let mut draw = outer.draw;
        let again = Self::draw(
            random,
            match rate {
                FunctionRate::Stated(n) => n,
                FunctionRate::Adaptive(n) => n.div_ceil(draw.weight),
            },
        );
        if draw.weight == 1 {
            draw = again.draw;
        } else {
            draw.weight = draw.weight.saturating_mul(again.own_weight);
        }
        Self {
            is_timed: outer.is_timed && again.is_timed,
            own_weight: again.own_weight,
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
            draw: SamplingDraw {
                // 64 random bits: no other draw has them.
                cluster: random.u64(..),
                cluster_rate: n,
                weight: n,
            },
        }
    }
}
