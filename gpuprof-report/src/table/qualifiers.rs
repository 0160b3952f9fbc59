//! What keeps a GPU figure from being the whole truth: a sample, calls that went untimed, a
//! duration near the event overhead.

use crate::profile::Function;

/// Before a sum scaled up from a sample.
pub(super) const ESTIMATED: &str = "~";
/// Before a sum that lacks calls.
pub(super) const PARTIAL: &str = "≥";

/// Before a self time, or a sum of what is inside, that holds some time twice.
pub(super) const OVERLAPPING: &str = "≤";

/// What is to be said of the GPU sums of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Doubt {
    /// Scaled up from a sample.
    pub(super) estimated: bool,
    /// Calls that were to be timed were not.
    pub(super) partial: bool,
    /// Spans overlapped on a stream for a time that is not known.
    pub(super) overlapping: bool,
}

impl Doubt {
    /// That of a function, and of each of its rows: which of them the untimed calls belong to is
    /// not known.
    pub(super) fn of(function: &Function) -> Self {
        match &function.gpu {
            Some(gpu) => Self {
                estimated: gpu.estimate.is_some(),
                partial: part_timed(function).is_some(),
                // What of the calls inside could not be read is in this function's own time as
                // well.
                overlapping: function.gpu_overlaps || function.gpu_nested_partial,
            },
            None if function.has_stream => Self::default(),
            None => Self::inside(function),
        }
    }

    /// That of the sum of what is inside a function, and of each of its rows.
    pub(super) fn inside(function: &Function) -> Self {
        Self {
            estimated: function.gpu_nested_estimated,
            partial: function.gpu_nested_partial,
            overlapping: function.gpu_overlaps && !function.has_stream,
        }
    }

    /// That of a sum of both.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            estimated: self.estimated || other.estimated,
            partial: self.partial || other.partial,
            overlapping: self.overlapping || other.overlapping,
        }
    }

    /// What stands before a self time. Where it is at most what is shown, that calls are missing
    /// makes it no lower bound.
    pub(super) fn own_mark(self) -> &'static str {
        match self.overlapping && !self.estimated {
            true => OVERLAPPING,
            false => self.mark(),
        }
    }

    /// What stands before the sums. An estimate may be too high, so it is never a lower bound.
    pub(super) fn mark(self) -> &'static str {
        match (self.estimated, self.partial) {
            (true, _) => ESTIMATED,
            (false, true) => PARTIAL,
            (false, false) => "",
        }
    }
}

/// Calls timed, of calls that were to be timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) timed: u64,
    /// Calls on a stream, less those that sampling left out on purpose: these are in the estimate.
    pub(super) wanted: u64,
}

/// The part of a function's calls that its GPU sums, and those around it, are made of; `None` where
/// that is all.
pub(super) fn part_timed(function: &Function) -> Option<Part> {
    let timed = function.gpu.as_ref().map_or(0, |gpu| gpu.timed_calls);
    let untimed = &function.untimed;
    let made_up_for = match timed {
        0 => 0,
        _ => untimed.sampled_out,
    };
    let meant = untimed.no_stream.saturating_add(made_up_for);
    let missed = (function.captured_calls).saturating_add(untimed.sum().saturating_sub(meant));
    (missed > 0).then_some(Part {
        timed,
        wanted: timed.saturating_add(missed),
    })
}

/// Whether a function's average GPU time is too close to the event overhead to say much about its
/// kernels.
pub(super) fn near_floor(function: &Function, event_overhead_ns: Option<u64>) -> bool {
    match (&function.gpu, event_overhead_ns) {
        (Some(gpu), Some(floor)) => gpu.times.mean_ns < floor.saturating_mul(NEAR_FLOOR),
        _ => false,
    }
}

/// How many event overheads an average must reach to go unmarked.
pub(super) const NEAR_FLOOR: u64 = 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Estimate, GpuSpanStats, SpanStats, UntimedReasons};

    fn timed(calls: u64, untimed: UntimedReasons) -> Function {
        Function {
            has_stream: true,
            calls: calls + untimed.sum(),
            untimed_calls: untimed.sum(),
            untimed,
            gpu: Some(GpuSpanStats {
                timed_calls: calls,
                ..GpuSpanStats::default()
            }),
            ..Function::default()
        }
    }

    #[test]
    fn what_was_not_to_be_timed_makes_no_lower_bound() {
        let untimed = UntimedReasons {
            no_stream: 3,
            sampled_out: 90,
            ..UntimedReasons::default()
        };
        let function = timed(10, untimed);
        assert_eq!(part_timed(&function), None);
        assert_eq!(Doubt::of(&function).mark(), "");
    }

    #[test]
    fn every_other_reason_makes_a_lower_bound() {
        let reasons: [fn(&mut UntimedReasons) -> &mut u64; 7] = [
            |untimed| &mut untimed.pool_exhausted,
            |untimed| &mut untimed.queue_full,
            |untimed| &mut untimed.cuda_error,
            |untimed| &mut untimed.unavailable,
            |untimed| &mut untimed.unfinished,
            |untimed| &mut untimed.stream_unsafe,
            |untimed| &mut untimed.crossed_reset,
        ];
        let part = Some(Part {
            timed: 10,
            wanted: 12,
        });
        for reason in reasons {
            let mut untimed = UntimedReasons {
                no_stream: 3,
                sampled_out: 90,
                ..UntimedReasons::default()
            };
            *reason(&mut untimed) = 2;
            assert_eq!(part_timed(&timed(10, untimed)), part);
        }
        let mut captured = timed(10, UntimedReasons::default());
        captured.captured_calls = 2;
        assert_eq!(part_timed(&captured), part);
        assert_eq!(Doubt::of(&captured).mark(), PARTIAL);
    }

    #[test]
    fn an_estimate_is_no_lower_bound() {
        let untimed = UntimedReasons {
            sampled_out: 90,
            queue_full: 1,
            ..UntimedReasons::default()
        };
        let mut function = timed(10, untimed);
        if let Some(gpu) = function.gpu.as_mut() {
            gpu.estimate = Some(Estimate::default());
        }
        let doubt = Doubt::of(&function);
        assert!(doubt.partial);
        assert_eq!(doubt.mark(), ESTIMATED);
    }

    #[test]
    fn a_function_of_which_nothing_was_timed_has_no_sums_to_mark() {
        let mut function = timed(0, UntimedReasons::default());
        (function.gpu, function.captured_calls) = (None, 5);
        assert_eq!(Doubt::of(&function), Doubt::default());
    }

    #[test]
    fn averages_under_ten_event_floors_are_marked() {
        let function = |mean_ns| Function {
            gpu: Some(GpuSpanStats {
                times: SpanStats {
                    mean_ns,
                    ..SpanStats::default()
                },
                ..GpuSpanStats::default()
            }),
            ..Function::default()
        };
        assert!(near_floor(&function(14_099), Some(1_410)));
        assert!(!near_floor(&function(14_100), Some(1_410)));
        assert!(!near_floor(&function(1), None));
    }
}
