//! What keeps a GPU figure from being the whole truth: a sample, calls that went untimed, shared
//! time, a duration near the event overhead or of the host.

use crate::profile::{CuptiCompleteness, Function, Profile};

/// Before a sum scaled up from a sample.
pub(super) const ESTIMATED: &str = "~";
/// Before a sum that lacks calls.
pub(super) const PARTIAL: &str = "≥";

/// Before a self time, or a sum of what is inside, that holds some time twice.
pub(super) const OVERLAPPING: &str = "≤";

/// Before a self time, or a sum of what is inside, that has an equal part of shared time.
pub(super) const DIVIDED: &str = "÷";

/// What is to be said of the GPU sums of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Doubt {
    /// Scaled up from a sample.
    pub(super) estimated: bool,
    /// Calls are missing.
    pub(super) partial: bool,
    /// Spans overlapped on a stream for a time that is not known.
    pub(super) overlapping: bool,
    /// Spans overlapped on a stream, whose time is divided equally among them.
    pub(super) divided: bool,
}

impl Doubt {
    /// That of a function, and of each of its rows: which of them the untimed calls belong to is
    /// not known.
    pub(super) fn of(function: &Function) -> Self {
        match &function.gpu {
            Some(gpu) => Self {
                estimated: gpu.estimate.is_some(),
                partial: timed_part(function).is_some(),
                // Times of nested calls that could not be read are in this function's own time as
                // well.
                overlapping: function.gpu_overlaps || function.gpu_nested_partial,
                divided: function.gpu_divided_calls > 0,
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
            divided: function.gpu_nested_divided,
        }
    }

    /// That of a sum of both.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            estimated: self.estimated || other.estimated,
            partial: self.partial || other.partial,
            overlapping: self.overlapping || other.overlapping,
            divided: self.divided || other.divided,
        }
    }

    /// This mark if it is estimated.
    pub(super) fn if_estimated(self, mark: &'static str) -> &'static str {
        if self.estimated { mark } else { "" }
    }

    /// What stands before a self time: the first that applies of `≤`, `~`, `≥` and `÷`. The time of
    /// others can be most of it, which is worse than the error of an estimate. Where it is at most
    /// what is shown, that calls are missing makes it no lower bound; an equal part is the least
    /// doubtful.
    pub(super) fn own_mark(self) -> &'static str {
        match (self.overlapping, self.estimated, self.partial) {
            (true, ..) => OVERLAPPING,
            (false, false, false) if self.divided => DIVIDED,
            _ => self.mark(),
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

/// Calls timed, of calls that a sum is to be of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) timed: u64,
    /// All calls, less those that sampling left out and the estimate includes.
    pub(super) wanted: u64,
}

/// The part of a function's calls that its GPU sums, and those around it, are made of; `None` where
/// that is all.
pub(super) fn timed_part(function: &Function) -> Option<Part> {
    let timed = function.gpu.as_ref().map_or(0, |gpu| gpu.timed_calls);
    let untimed = &function.untimed;
    let made_up_for = match timed {
        0 => 0,
        _ => untimed.sampled_out,
    };
    let missed = untimed.sum().saturating_sub(made_up_for);
    let missed = missed.saturating_add(function.captured_calls);
    (missed > 0).then_some(Part {
        timed,
        wanted: timed.saturating_add(missed),
    })
}

/// How many event overheads an average must reach to go unmarked.
pub(super) const NEAR_FLOOR: u64 = 10;

/// Why the GPU times of a row may say little about the work of its function: what stands before the
/// row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowMark {
    /// It inherits its stream and launched no kernel, copy or memset.
    LaunchedNothing,
    /// It inherits its stream, and in most of its timed calls the GPU may have done nothing.
    MayBeHost,
    /// Its average is too close to the event overhead.
    NearFloor,
}

impl RowMark {
    /// The first that applies to a row of the function with this average.
    pub(super) fn of(function: &Function, mean_ns: Option<u64>, profile: &Profile) -> Option<Self> {
        let gpu = function.gpu.as_ref()?;
        let has_work = has_work(function, profile.cupti.as_ref());
        if has_work == Some(false) && function.gpu_inherited_calls > 0 {
            return Some(Self::LaunchedNothing);
        }
        if has_work.is_none() && function.gpu_host_calls > gpu.timed_calls / 2 {
            return Some(Self::MayBeHost);
        }
        let floor = profile.diagnostics.event_overhead_ns?;
        let is_near = mean_ns? < floor.saturating_mul(NEAR_FLOOR);
        is_near.then_some(Self::NearFloor)
    }

    /// As it is drawn.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::LaunchedNothing => "∅",
            Self::MayBeHost => "?",
            Self::NearFloor => "!",
        }
    }
}

/// Whether a kernel, copy or memset ran for a call of the function or for a span nested in one.
/// `None`: the records do not say.
fn has_work(function: &Function, cupti: Option<&CuptiCompleteness>) -> Option<bool> {
    let cupti = cupti?;
    let activity = &function.activity;
    if activity.activities > 0 || !activity.kernels.is_empty() || !activity.copies.is_empty() {
        return Some(true);
    }
    let missing = [
        cupti.dropped_records,
        cupti.invalid_records,
        cupti.unfinished,
        cupti.records_without_call,
        cupti.dropped_calls,
    ];
    (missing == [0; 5] && activity.busy_calls > 0).then_some(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Estimate, GpuSpanStats, SpanStats, UntimedReasons};

    fn timed(calls: u64, untimed: UntimedReasons) -> Function {
        Function {
            has_stream: true,
            calls: calls.saturating_add(untimed.sum()),
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
    fn what_the_estimate_includes_makes_no_lower_bound() {
        let untimed = UntimedReasons {
            sampled_out: 90,
            ..UntimedReasons::default()
        };
        let function = timed(10, untimed);
        assert_eq!(timed_part(&function), None);
        assert_eq!(Doubt::of(&function).mark(), "");
    }

    #[test]
    fn every_other_reason_makes_a_lower_bound() {
        let reasons: [fn(&mut UntimedReasons) -> &mut u64; 8] = [
            |untimed| &mut untimed.no_stream,
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
                sampled_out: 90,
                ..UntimedReasons::default()
            };
            *reason(&mut untimed) = 2;
            assert_eq!(timed_part(&timed(10, untimed)), part);
        }
        let mut captured = timed(10, UntimedReasons::default());
        captured.captured_calls = 2;
        assert_eq!(timed_part(&captured), part);
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
    fn a_self_time_has_one_mark() {
        let doubt = |estimated, overlapping, partial| Doubt {
            estimated,
            partial,
            overlapping,
            divided: true,
        };
        let marks = [
            (doubt(true, true, true), "≤"),
            (doubt(true, false, false), "~"),
            (doubt(false, true, true), "≤"),
            (doubt(false, true, false), "≤"),
            (doubt(false, false, true), "≥"),
            (doubt(false, false, false), "÷"),
        ];
        for (doubt, mark) in marks {
            assert_eq!(doubt.own_mark(), mark);
        }
        assert_eq!(doubt(false, false, false).mark(), "", "a total is whole");
        assert_eq!(Doubt::default().own_mark(), "");
    }

    /// A function of 10 timed calls.
    fn averaging(mean_ns: u64) -> Function {
        let mut function = timed(10, UntimedReasons::default());
        if let Some(gpu) = function.gpu.as_mut() {
            gpu.times = SpanStats {
                mean_ns,
                ..SpanStats::default()
            };
        }
        function
    }

    fn of_function(function: &Function, profile: &Profile) -> Option<RowMark> {
        let mean_ns = function.gpu.as_ref().map(|gpu| gpu.times.mean_ns);
        RowMark::of(function, mean_ns, profile)
    }

    fn profile(event_overhead_ns: Option<u64>, cupti: Option<CuptiCompleteness>) -> Profile {
        let mut profile = Profile {
            cupti,
            ..Profile::default()
        };
        profile.diagnostics.event_overhead_ns = event_overhead_ns;
        profile
    }

    #[test]
    fn averages_under_ten_event_floors_are_marked() {
        let of = |mean_ns, floor| of_function(&averaging(mean_ns), &profile(floor, None));
        assert_eq!(of(14_099, Some(1_410)), Some(RowMark::NearFloor));
        assert_eq!(of(14_100, Some(1_410)), None);
        assert_eq!(of(1, None), None);
    }

    #[test]
    fn host_time_is_marked_where_most_timed_calls_look_like_it() {
        let of = |host_calls, mean_ns| {
            let mut function = averaging(mean_ns);
            (function.gpu_inherited_calls, function.gpu_host_calls) = (10, host_calls);
            of_function(&function, &profile(Some(1_410), None))
        };
        assert_eq!(of(5, 94_000), None);
        assert_eq!(of(6, 94_000), Some(RowMark::MayBeHost));
        // It says more than that the average is short.
        assert_eq!(of(6, 1), Some(RowMark::MayBeHost));
        assert_eq!(of(5, 1), Some(RowMark::NearFloor));
    }

    #[test]
    fn complete_records_say_what_was_launched() {
        let of = |activities, inherited, cupti: CuptiCompleteness| {
            let mut function = averaging(94_000);
            (function.gpu_inherited_calls, function.gpu_host_calls) = (inherited, inherited);
            (function.activity.activities, function.activity.busy_calls) = (activities, 10);
            of_function(&function, &profile(Some(1_410), Some(cupti)))
        };
        let complete = CuptiCompleteness::default;
        assert_eq!(of(0, 10, complete()), Some(RowMark::LaunchedNothing));
        assert_eq!(of(0, 1, complete()), Some(RowMark::LaunchedNothing));
        assert_eq!(of(0, 0, complete()), None, "it has its own stream");
        assert_eq!(of(1, 10, complete()), None);
        let missing: [fn(&mut CuptiCompleteness) -> &mut u64; 5] = [
            |cupti| &mut cupti.dropped_records,
            |cupti| &mut cupti.invalid_records,
            |cupti| &mut cupti.unfinished,
            |cupti| &mut cupti.records_without_call,
            |cupti| &mut cupti.dropped_calls,
        ];
        for field in missing {
            let mut cupti = complete();
            *field(&mut cupti) = 1;
            assert_eq!(of(0, 10, cupti.clone()), Some(RowMark::MayBeHost));
            assert_eq!(of(1, 10, cupti), None);
        }
    }
}
