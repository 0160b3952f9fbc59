//! One ended call as its span hands it over, and what became of it on the GPU side.

/// Why a call that has a stream was not timed. Also an index into `OutcomeCounts::untimed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UntimedReason {
    /// Left out by sampling. Its stream was not being captured.
    LeftOutAsked,
    /// Left out by sampling before the driver was asked whether its stream was being captured.
    LeftOutUnasked,
    PoolExhausted,
    QueueFull,
    CudaError,
    Unavailable,
    StreamUnsafe,
    CrossedReset,
}

impl UntimedReason {
    /// Whether sampling left it out.
    pub(crate) fn is_by_sampling(self) -> bool {
        matches!(self, Self::LeftOutAsked | Self::LeftOutUnasked)
    }
}

/// Number of [`UntimedReason`]s.
pub(crate) const REASONS: usize = 8;

/// What became of a call on the GPU side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GpuOutcome {
    /// It has no stream.
    NoStream,
    /// Its event pair is submitted to the resolver.
    Submitted,
    /// Its stream was being captured.
    Captured {
        /// How many calls it represents, with those that did not ask the driver.
        stands_for: u32,
    },
    Untimed(UntimedReason),
}

impl GpuOutcome {
    /// Its stream was being captured, as each call asks.
    pub(crate) const CAPTURED: Self = Self::Captured { stands_for: 1 };

    /// The same for a call that represents so many if it is captured.
    #[inline]
    pub(crate) fn standing_for(self, stands_for: u32) -> Self {
        match self {
            Self::Captured { .. } => Self::Captured { stands_for },
            other => other,
        }
    }
}

/// The stated work of one call or of many. `None`: it is not stated.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StatedWork {
    /// Bytes moved.
    pub bytes: Option<f64>,
    /// Floating-point operations done.
    pub flops: Option<f64>,
    /// Items processed.
    pub items: Option<f64>,
}

impl StatedWork {
    /// Nothing stated.
    pub const NONE: Self = Self {
        bytes: None,
        flops: None,
        items: None,
    };

    /// Whether nothing is stated.
    #[inline]
    pub(crate) fn is_none(&self) -> bool {
        // One branch instead of three.
        self.bytes.is_none() & self.flops.is_none() & self.items.is_none()
    }

    /// The same without amounts that would spoil a sum: negative ones, those over 10³⁰, infinities
    /// and NaN.
    pub(crate) fn without_invalid(&self) -> Self {
        let valid = |amount: Option<f64>| amount.filter(|amount| (0.0..=1e30).contains(amount));
        Self {
            bytes: valid(self.bytes),
            flops: valid(self.flops),
            items: valid(self.items),
        }
    }

    pub(crate) fn fields(&self) -> [Option<f64>; 3] {
        [self.bytes, self.flops, self.items]
    }

    pub(crate) fn add(&mut self, other: &Self) {
        let sum = |a: Option<f64>, b: Option<f64>| match (a, b) {
            (Some(a), Some(b)) => Some(a + b),
            (a, b) => a.or(b),
        };
        *self = Self {
            bytes: sum(self.bytes, other.bytes),
            flops: sum(self.flops, other.flops),
            items: sum(self.items, other.items),
        };
    }

    /// The work of `calls` such calls.
    pub(super) fn times(&self, calls: u32) -> Self {
        let times = |x: Option<f64>| x.map(|x| x * f64::from(calls));
        Self {
            bytes: times(self.bytes),
            flops: times(self.flops),
            items: times(self.items),
        }
    }

    pub(super) fn subtract(&mut self, earlier: &Self) {
        let negated = |x: Option<f64>| x.map(|x| -x);
        self.add(&Self {
            bytes: negated(earlier.bytes),
            flops: negated(earlier.flops),
            items: negated(earlier.items),
        });
    }
}

/// One ended call, as its span hands it over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallRecord<'a> {
    /// Clock ticks.
    pub(crate) started: u64,
    pub(crate) cpu_ticks: u64,
    /// The part of `cpu_ticks` that nested spans took.
    pub(crate) nested_ticks: u64,
    /// From the first poll to the end, for async functions.
    pub(crate) wall_ticks: Option<u64>,
    pub(crate) outcome: GpuOutcome,
    pub(crate) work: &'a StatedWork,
    /// The number of its spans on the GPU; 0 before they are submitted.
    pub(crate) gpu_call: u64,
}
