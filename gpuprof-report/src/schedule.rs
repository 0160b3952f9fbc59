//! Which steps of a program are measured, in the terms of torch.profiler's `schedule`.

use std::num::NonZeroU32;

use crate::figures::figures;

figures! {
    /// Which steps of `gpuprof::step()` are measured.
    ///
    /// A cycle is `wait` steps in which spans do nothing, `warmup` steps that are measured and
    /// discarded, and `active` steps that are measured and reported. Cycles follow one another
    /// until the program ends, or `repeat` times. The first step begins when measuring starts.
    ///
    /// ```
    /// use gpuprof_report::schedule::Schedule;
    ///
    /// let schedule = Schedule { wait: 100, warmup: 2, active: 8, ..Schedule::default() };
    /// assert_eq!(Schedule::parse("100,2,8"), Some(schedule));
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Schedule {
        /// Steps at the start of each cycle in which spans do nothing.
        pub wait: u32;
        /// Next steps: measured, then discarded.
        pub warmup: u32;
        /// Next steps: measured and reported; 0 counts as 1.
        pub active: u32;
        /// Number of cycles; `None` repeats them until the program ends.
        pub repeat: Option<NonZeroU32>;
    }
}

impl Default for Schedule {
    /// Every step is active, without end.
    fn default() -> Self {
        Self {
            wait: 0,
            warmup: 0,
            active: 1,
            repeat: None,
        }
    }
}

impl Schedule {
    /// The cycle and phase of step `step`, counted from 0.
    #[must_use]
    pub fn position(self, step: u64) -> Position {
        let (wait, warmup) = (u64::from(self.wait), u64::from(self.warmup));
        let length = wait + warmup + u64::from(self.active.max(1));
        let (cycle, within) = (step / length, step % length);
        let is_over = self
            .repeat
            .is_some_and(|cycles| cycle >= u64::from(cycles.get()));
        let phase = if is_over || within < wait {
            Phase::Wait
        } else if within < wait + warmup {
            Phase::Warmup
        } else {
            Phase::Active
        };
        Position { cycle, phase }
    }

    /// Reads `wait,warmup,active[,repeat]`, where `repeat` 0 means without end. `None` for any
    /// other text, and if no step is active.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let numbers = text.split(',').map(|number| number.trim().parse().ok());
        let (wait, warmup, active, repeat) = match *numbers.collect::<Option<Vec<u32>>>()? {
            [wait, warmup, active] => (wait, warmup, active, 0),
            [wait, warmup, active, repeat] => (wait, warmup, active, repeat),
            _ => return None,
        };
        (active > 0).then_some(Self {
            wait,
            warmup,
            active,
            repeat: NonZeroU32::new(repeat),
        })
    }
}

/// Where in its schedule a program is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Number of the cycle, from 0.
    pub cycle: u64,
    /// Phase of the cycle.
    pub phase: Phase,
}

/// What is done with a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// Spans do nothing.
    Wait,
    /// Spans are measured and discarded.
    Warmup,
    /// Spans are measured and reported.
    Active,
}

#[cfg(test)]
mod tests {
    use super::{Phase, Schedule};

    fn phases(schedule: Schedule, steps: u64) -> String {
        let letter = |step| match schedule.position(step).phase {
            Phase::Wait => 'w',
            Phase::Warmup => 'u',
            Phase::Active => 'A',
        };
        (0..steps).map(letter).collect()
    }

    #[test]
    fn steps_follow_the_schedule() {
        for (text, shown) in [
            ("1,1,3", "wuAAAwuAAAwu"),
            ("0,0,1", "AAAAAAAAAAAA"),
            ("2, 0, 1, 2", "wwAwwAwwwwww"),
            ("0,1,2,1", "uAAwwwwwwwww"),
            ("0,1,2,0", "uAAuAAuAAuAA"),
        ] {
            assert_eq!(phases(Schedule::parse(text).unwrap(), 12), shown, "{text}");
        }
        let schedule = Schedule {
            wait: 1,
            ..Schedule::default()
        };
        assert_eq!(phases(schedule, 4), "wAwA");
    }

    #[test]
    fn no_active_step_counts_as_one() {
        let schedule = Schedule {
            wait: 1,
            active: 0,
            ..Schedule::default()
        };
        assert_eq!(phases(schedule, 4), "wAwA");
    }

    #[test]
    fn any_other_text_is_refused() {
        for text in [
            "",
            "1",
            "1,1",
            "1,1,0",
            "1,1,-1",
            "1,1,1,1,1",
            "a,b,c",
            "1,1,4294967296",
        ] {
            assert!(Schedule::parse(text).is_none(), "{text}");
        }
    }
}
