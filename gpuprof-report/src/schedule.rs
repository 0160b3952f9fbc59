//! Which steps of a program are measured: some wait, some warm up, some count, again and again.
//!
//! As torch.profiler's `schedule` has it, for programs that run too long to be measured whole. Pure arithmetic; imports
//! nothing of gpuprof's.

/// Which steps of [`step`](crate::step) are measured.
///
/// A cycle is `wait` steps in which spans do nothing, `warmup` steps that are measured and forgotten, so that what happens
/// once is over, and `active` steps that count. Cycles follow one another until the program ends, or until there were
/// [`repeat`](Self::repeat) of them. The first step begins where measuring begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Schedule {
    wait: u32,
    warmup: u32,
    active: u32,
    /// 0: without end.
    repeat: u32,
}

impl Schedule {
    /// A cycle of so many steps. `active` 0 counts as 1.
    pub const fn new(wait: u32, warmup: u32, active: u32) -> Self {
        Self {
            wait,
            warmup,
            active: if active == 0 { 1 } else { active },
            repeat: 0,
        }
    }

    /// Ends after so many cycles; 0, the default, is never.
    pub const fn repeat(mut self, cycles: u32) -> Self {
        self.repeat = cycles;
        self
    }

    /// What step number `step`, from 0, is.
    pub fn at(self, step: u64) -> At {
        let length = u64::from(self.wait) + u64::from(self.warmup) + u64::from(self.active);
        let (cycle, within) = (step / length, step % length);
        let is_over = self.repeat > 0 && cycle >= u64::from(self.repeat);
        let phase = if is_over || within < u64::from(self.wait) {
            Phase::Wait
        } else if within < u64::from(self.wait) + u64::from(self.warmup) {
            Phase::Warmup
        } else {
            Phase::Active
        };
        At { cycle, phase }
    }

    /// From `wait,warmup,active[,repeat]`; `None` for anything else, and where no step is active.
    pub fn parse(text: &str) -> Option<Self> {
        let numbers = text.split(',').map(|number| number.trim().parse().ok());
        match *numbers.collect::<Option<Vec<u32>>>()? {
            [wait, warmup, active] if active > 0 => Some(Self::new(wait, warmup, active)),
            [wait, warmup, active, repeat] if active > 0 => {
                Some(Self::new(wait, warmup, active).repeat(repeat))
            }
            _ => None,
        }
    }

    /// As the environment has it: wait, warm-up, active, and 0 or how often.
    pub fn numbers(self) -> [u32; 4] {
        [self.wait, self.warmup, self.active, self.repeat]
    }
}

/// Where in its schedule a program is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// Number of the cycle, from 0.
    pub cycle: u64,
    /// Where in the cycle.
    pub phase: Phase,
}

/// What is done with a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Spans do nothing.
    Wait,
    /// Measured and forgotten.
    Warmup,
    /// Measured.
    Active,
}

#[cfg(test)]
mod tests {
    use super::{Phase, Schedule};

    fn phases(schedule: Schedule, steps: u64) -> String {
        let letter = |step| match schedule.at(step).phase {
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
        assert_eq!(phases(Schedule::new(1, 0, 0), 4), "wAwA");
    }

    #[test]
    fn what_is_no_schedule_is_none() {
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
