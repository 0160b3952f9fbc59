//! What callgrind has counted, by the library in which it was executed.
//!
//! The format: Callgrind Format Specification, in the manual of valgrind. `ob=` names the object of
//! the lines that follow. After `calls=` comes a line with the instructions of these calls; `cob=`
//! before it names the object of the callee, if it is another one.

/// The names of the simulated libraries begin so.
const SIMULATOR: &str = "libsim";

/// Instructions of one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Instructions {
    all: u64,
    /// In calls into the simulated libraries, with all that these call.
    into_simulators: u64,
    /// In calls out of them into the program.
    out_of_simulators: u64,
}

impl Instructions {
    /// Reads a file with uncompressed names and positions. `None`: it has no summary.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let is_simulator = |object: &str| {
            let name = object.rsplit('/').next();
            name.is_some_and(|name| name.starts_with(SIMULATOR))
        };
        let last_number = |line: &str| line.split(' ').next_back()?.parse::<u64>().ok();
        let mut found = Self::default();
        let mut has_summary = false;
        let (mut caller, mut callee) = ("", None);
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if let Some(object) = line.strip_prefix("ob=") {
                caller = object;
            } else if let Some(object) = line.strip_prefix("cob=") {
                callee = Some(object);
            } else if line.starts_with("calls=") {
                let called = callee.take().unwrap_or(caller);
                let count = lines.next().and_then(last_number)?;
                match (is_simulator(caller), is_simulator(called)) {
                    (false, true) => found.into_simulators += count,
                    (true, false) if !is_library(called) => found.out_of_simulators += count,
                    _ => {}
                }
            } else if let Some(summary) = line.strip_prefix("summary: ") {
                found.all = summary.parse().ok()?;
                has_summary = true;
            }
        }
        has_summary.then_some(found)
    }

    /// Without those of the simulated libraries, but with those of their callbacks.
    pub(crate) fn without_simulators(self) -> u64 {
        (self.all + self.out_of_simulators).saturating_sub(self.into_simulators)
    }
}

/// Whether an object is a shared library, which calls nothing back.
fn is_library(object: &str) -> bool {
    object.contains(".so")
}

#[cfg(test)]
mod tests {
    use super::Instructions;

    #[test]
    fn simulated_libraries_are_left_out_and_their_callbacks_are_not() {
        let text = "summary: 1000\n\n\
                    ob=/target/cost\nfn=span\n3 20\ncob=/deps/libsimcuda.so\ncfn=cuEventRecord\n\
                    calls=2 0\n4 300\ncfn=inner\ncalls=1 0\n5 70\n\
                    ob=/deps/libsimcuda.so\nfn=cuEventRecord\n9 200\ncob=/target/cost\n\
                    cfn=callback\ncalls=1 0\n10 40\ncob=/lib/libc.so.6\ncfn=memcpy\ncalls=1 0\n\
                    11 60\ntotals: 1000\n";
        let found = Instructions::parse(text).expect("a summary");
        let wanted = Instructions {
            all: 1_000,
            into_simulators: 300,
            out_of_simulators: 40,
        };
        assert_eq!(found, wanted);
        assert_eq!(found.without_simulators(), 740);
        assert_eq!(Instructions::parse("fn=span\n3 20\n"), None);
    }
}
