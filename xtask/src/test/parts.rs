//! Which tests must have run, and whether they did.
//!
//! Why two lists: cargo knows every test file, so that one which ran nothing is found; [`PARTS`] is
//! ours, so that a file which was deleted or switched off is found too.
//! Must never import: needs, ptx.

use super::harness::Binary;
use crate::workspace::TestTarget;

/// A part of the tests that the project may not go without.
pub(super) struct Part {
    /// What it keeps true.
    promise: &'static str,
    package: &'static str,
    /// The test file, or `None` for any test of the package.
    target: Option<&'static str>,
}

const fn part(promise: &'static str, package: &'static str, target: Option<&'static str>) -> Part {
    Part {
        promise,
        package,
        target,
    }
}

/// The parts that `cargo test --workspace` runs.
pub(super) const PARTS: [Part; 11] = [
    part(
        "the compile errors and accepted forms of the attribute",
        "gpuprof",
        Some("ui"),
    ),
    part(
        "the NVTX ranges as a recorder sees them",
        "gpuprof",
        Some("nvtx"),
    ),
    part("the ends of a process", "gpuprof", Some("process")),
    part("the NVTX recorder", "nvtx-recorder", Some("records")),
    part("the simulated driver", "simcuda", None),
    part("the simulated libcupti", "simcupti", None),
    part(
        "the table at every width",
        "gpuprof-runtime",
        Some("report_table"),
    ),
    part(
        "the checks of the GPU pack, on the simulated device",
        "gpu-checks",
        Some("simulated"),
    ),
    part("what load does, with little of it", "load", Some("load")),
    part("the installer of what is missing", "xtask", None),
    part(
        "the benchmark, in one short run",
        "gpuprof-benches",
        Some("short"),
    ),
];

/// One line for each test that should have run and did not.
pub(super) fn missing(parts: &[Part], expected: &[TestTarget], seen: &[Binary]) -> Vec<String> {
    let ran = |name: &str| {
        seen.iter()
            .filter(|binary| binary.name == name && binary.passed + binary.failed > 0)
            .count()
    };
    let mut problems = Vec::new();
    for (index, target) in expected.iter().enumerate() {
        // Packages may have test files of one name; each must have run.
        let namesakes = expected[..=index]
            .iter()
            .filter(|other| other.name == target.name)
            .count();
        if ran(&target.name) < namesakes {
            problems.push(format!(
                "{}: tests/{}.rs ran no test",
                target.package, target.name
            ));
        }
    }
    for part in parts {
        let files = expected
            .iter()
            .filter(|target| target.package == part.package);
        let ran = match part.target {
            Some(name) => files.clone().any(|target| target.name == name) && ran(name) > 0,
            None => {
                files.clone().any(|target| ran(&target.name) > 0)
                    || ran(&part.package.replace('-', "_")) > 0
            }
        };
        if !ran {
            problems.push(format!("{} did not run: {}", part.place(), part.promise));
        }
    }
    problems
}

impl Part {
    fn place(&self) -> String {
        match self.target {
            Some(target) => format!("{}: tests/{target}.rs", self.package),
            None => format!("{}: its tests", self.package),
        }
    }
}

/// One line for each binary that left tests out.
pub(super) fn ignored(seen: &[Binary]) -> Vec<String> {
    let skipped = seen.iter().filter(|binary| binary.ignored > 0);
    skipped
        .map(|binary| format!("{}: {} tests ignored", binary.name, binary.ignored))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: [Part; 2] = [
        part("errors", "gpuprof", Some("ui")),
        part("driver", "sim-cuda", None),
    ];

    fn target(package: &str, name: &str) -> TestTarget {
        TestTarget {
            package: package.into(),
            name: name.into(),
        }
    }

    fn binary(name: &str, passed: u64, ignored: u64) -> Binary {
        Binary {
            name: name.into(),
            passed,
            failed: 0,
            ignored,
        }
    }

    #[test]
    fn a_complete_run_has_no_problem() {
        let expected = [target("gpuprof", "ui"), target("gpuprof", "exit")];
        let seen = [
            binary("ui", 9, 0),
            binary("exit", 1, 0),
            binary("sim_cuda", 3, 0),
            binary("doc gpuprof", 0, 0),
        ];
        assert!(missing(&ONE, &expected, &seen).is_empty());
    }

    #[test]
    fn a_file_that_ran_nothing_is_a_problem() {
        let expected = [target("gpuprof", "ui"), target("gpuprof", "exit")];
        let seen = [
            binary("ui", 9, 0),
            binary("exit", 0, 0),
            binary("sim_cuda", 3, 0),
        ];
        assert_eq!(
            missing(&ONE, &expected, &seen),
            ["gpuprof: tests/exit.rs ran no test"]
        );
    }

    #[test]
    fn namesakes_must_all_run() {
        let expected = [target("gpuprof", "ui"), target("other", "ui")];
        let seen = [binary("ui", 9, 0), binary("sim_cuda", 3, 0)];
        assert_eq!(
            missing(&ONE, &expected, &seen),
            ["other: tests/ui.rs ran no test"]
        );
    }

    #[test]
    fn a_deleted_part_is_a_problem() {
        let seen = [binary("sim_cuda", 0, 0)];
        assert_eq!(
            missing(&ONE, &[], &seen),
            [
                "gpuprof: tests/ui.rs did not run: errors",
                "sim-cuda: its tests did not run: driver"
            ]
        );
    }

    #[test]
    fn an_ignored_test_is_a_problem() {
        let seen = [binary("ui", 9, 2), binary("sim_cuda", 3, 0)];
        assert_eq!(ignored(&seen), ["ui: 2 tests ignored"]);
    }
}
