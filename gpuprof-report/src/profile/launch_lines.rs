//! From which source lines GPU work was launched. All of it is empty unless `GPUPROF_STACKS=on` is
//! set.

use std::cmp::Reverse;
use std::fmt;

use crate::figures::{Sum, figures};
use crate::sorting::sort_by;

/// The function of a stack in which no function has a name.
pub const UNKNOWN_FUNCTION: &str = "(unknown)";

/// The function of all stacks beyond the limit of distinct ones.
pub const OTHER_STACKS: &str = "(other stacks)";

/// The function of a stack whose addresses are in a file that was deleted or replaced.
pub const REPLACED_FILE: &str = "(replaced file)";

/// The function of a stack for which the report had no time left.
pub const NOT_LOOKED_UP: &str = "(not looked up)";

figures! {
    /// A source line that launches GPU work: the innermost frame of the stack that is neither of
    /// the standard library nor of a dependency, such as cudarc or a framework.
    ///
    /// Counts are of launches whose stack was sampled.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct LaunchLine {
        /// The path of the function, such as `app::model::forward`.
        pub function: String = special;
        /// The source file from the folder of its package on, such as `app/src/model.rs`; `None`
        /// without debug information.
        pub file: Option<String> = special;
        /// Its line; `None` without debug information.
        pub line: Option<u32> = special;
        /// The function of the program that calls this one, with its place, such as
        /// `app::model::forward at app/src/model.rs:42`: where a helper launches for others, these
        /// differ. `None` if no other one is known. JSON omits it then.
        pub caller: Option<String> = special, unless default;
        /// Whether no frame of the stack is the program's, and this is the innermost one of a
        /// framework or of another dependency. JSON omits it if not.
        pub in_framework: bool = special, unless default;
        /// Kernels, copies and memsets that were launched here.
        pub calls: u64 = sum;
        /// Their GPU time, ns.
        pub total_ns: u64 = sum;
    }
}

impl LaunchLine {
    /// `app/src/model.rs:42`; `None` without debug information.
    #[must_use]
    pub fn place(&self) -> Option<String> {
        let file = self.file.as_ref()?;
        Some(match self.line {
            Some(line) => format!("{file}:{line}"),
            None => file.clone(),
        })
    }

    /// Whether this is a place in the program, of which the function is known.
    #[must_use]
    pub fn is_of_program(&self) -> bool {
        let without = [UNKNOWN_FUNCTION, OTHER_STACKS, REPLACED_FILE, NOT_LOOKED_UP];
        !self.in_framework && !without.contains(&self.function.as_str())
    }

    /// Whether both are the same line of the same function, called by the same line.
    #[must_use]
    pub fn is_same_line(&self, other: &Self) -> bool {
        (self.line, &self.file) == (other.line, &other.file)
            && (&self.function, &self.caller) == (&other.function, &other.caller)
    }
}

/// `app::launch at app/src/gpu.rs:7 ← app::model::forward at app/src/model.rs:42`.
impl fmt::Display for LaunchLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.function)?;
        if let Some(place) = self.place() {
            write!(f, " at {place}")?;
        }
        match &self.caller {
            Some(caller) => write!(f, " ← {caller}"),
            None => Ok(()),
        }
    }
}

figures! {
    /// The launches whose stacks were sampled.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct LaunchStacks {
        /// Kernels that ran.
        pub calls: u64 = sum;
        /// Kernels of which the stack of the launch was sampled.
        pub sampled_calls: u64 = sum;
        /// Where kernels, copies and memsets outside any profiled function were launched, the line
        /// with the most GPU time first.
        pub unattributed: Vec<LaunchLine> = special;
    }
}

/// Adds lines to those that are known. The line with the most GPU time comes first.
pub fn add_lines(sum: &mut Vec<LaunchLine>, more: &[LaunchLine]) {
    for line in more {
        match sum.iter_mut().find(|known| known.is_same_line(line)) {
            Some(known) => known.add(line),
            None => sum.push(line.clone()),
        }
    }
    sort_by(sum, |a, b| {
        let key = |line: &LaunchLine| (Reverse((line.total_ns, line.calls)), line.line);
        let order = key(a).cmp(&key(b));
        order
            .then_with(|| (&a.file, &a.function, &a.caller).cmp(&(&b.file, &b.function, &b.caller)))
    });
}
