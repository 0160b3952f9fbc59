//! Which calls are timed: the decision for one call, given the decisions around it.

use crate::gpu::gpu_thread::GpuThread;
use crate::stats::sampling_estimates::SamplingDraw;

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
    /// Nothing was drawn: every call is timed.
    const ALL: Self = Self {
        yes: true,
        own: 1,
        draw: SamplingDraw::UNSAMPLED,
    };
}

impl GpuThread {
    /// Whether sampling takes this call: at random for the outermost, as the enclosing one was for
    /// those inside, and in any case as the site's own draw says.
    #[inline]
    pub(super) fn choose(&mut self, global: u32, own: Own) -> Chosen {
        if !self.has_open() && global <= 1 && !own.is_sampled() {
            return Chosen::ALL;
        }
        let outer = self.frames.gpu().rev().find_map(|(_, open)| open.chosen);
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

    /// Draws 1 in `n`; 0 is 1, of which nothing is drawn.
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
}
