//! The repository as cargo sees it: where it is, what it holds, and how to call cargo in it.
//!
//! `cargo metadata` is used instead of fixed paths: a user may have moved the target folder, and
//! the list of tests must be cargo's own.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// The manifest of the switched-off build, a workspace of its own.
pub(crate) const SWITCHED_OFF: &str = "tests/switched-off/Cargo.toml";
/// The packages of the examples.
pub(crate) const EXAMPLES: [&str; 2] = ["gpuprof-examples", "gpuprof-examples-more"];

/// A test target: one file below a package's `tests/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TestTarget {
    /// The package of the test.
    pub(crate) package: String,
    /// The name of its executable, with underscores.
    pub(crate) name: String,
}

/// The result of `cargo metadata` for this repository.
pub(crate) struct Workspace {
    /// The target folder, wherever it is.
    pub(crate) target: PathBuf,
    /// Every integration test of every package.
    pub(crate) tests: Vec<TestTarget>,
    /// The package of each example, by name.
    pub(crate) examples: BTreeMap<String, String>,
    /// The packages that `cargo publish` uploads.
    pub(crate) published: Vec<String>,
    /// The oldest toolchain that the packages promise to build with, such as `1.95`.
    pub(crate) rust_version: String,
}

impl Workspace {
    /// Runs `cargo metadata`.
    ///
    /// # Errors
    /// A text for the user: cargo cannot be run, or its answer lacks something.
    pub(crate) fn load() -> Result<Workspace, String> {
        let output = cargo(["metadata", "--no-deps", "--format-version", "1"])
            .output()
            .map_err(|error| format!("cannot run cargo: {error}"))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("cargo metadata failed\n{}", said.trim_end()));
        }
        let metadata: Value = serde_json::from_slice(&output.stdout)
            .map_err(|error| format!("cargo metadata: {error}"))?;
        Workspace::read(&metadata).ok_or_else(|| "cargo metadata lacks a field".into())
    }

    fn read(metadata: &Value) -> Option<Workspace> {
        let mut workspace = Workspace {
            target: metadata["target_directory"].as_str()?.into(),
            tests: Vec::new(),
            examples: BTreeMap::new(),
            published: Vec::new(),
            rust_version: String::new(),
        };
        for package in metadata["packages"].as_array()? {
            let name = package["name"].as_str()?;
            for target in package["targets"].as_array()? {
                let kind = target["kind"][0].as_str()?;
                let target_name = target["name"].as_str()?;
                if kind == "test" && target["test"].as_bool()? {
                    let name = target_name.replace('-', "_");
                    workspace.tests.push(TestTarget {
                        package: package["name"].as_str()?.into(),
                        name,
                    });
                }
                if kind == "example" && EXAMPLES.contains(&name) {
                    workspace.examples.insert(target_name.into(), name.into());
                }
            }
            // An empty list is `publish = false`.
            if package["publish"].is_null() {
                workspace.published.push(name.into());
            }
            if name == "gpuprof" {
                workspace.rust_version = package["rust_version"].as_str()?.into();
            }
        }
        (!workspace.rust_version.is_empty()).then_some(workspace)
    }
}

/// The repository's root folder.
pub(crate) fn root() -> &'static Path {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask)
}

/// The cargo that runs xtask, called in the repository's root.
pub(crate) fn cargo<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root());
    command
}

/// Builds as users do, without the flags of `.cargo/config.toml`.
pub(crate) fn without_test_hooks(build: &mut Command) -> &mut Command {
    // An empty variable overrides the file.
    build
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env("RUSTFLAGS", "")
}

/// Runs a command to its end with the terminal passed on.
///
/// # Errors
/// A text for the user: it cannot be started, or it failed.
pub(crate) fn succeed(command: &mut Command) -> Result<(), String> {
    let shown = shown(command);
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{shown}` failed ({status})")),
        Err(error) => Err(format!("cannot run `{shown}`: {error}")),
    }
}

/// Makes `folder` an empty folder.
///
/// # Errors
/// A text for the user: it cannot be removed or created.
pub(crate) fn empty_folder(folder: &Path) -> Result<(), String> {
    let failed = |error| format!("{}: {error}", folder.display());
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(failed)?;
    }
    fs::create_dir_all(folder).map_err(failed)
}

/// Settings of the tests themselves, such as which random programs they draw: docs/testing.md.
const OF_TESTS: &str = "GPUPROF_TEST_";

/// Whether an environment variable could change a test run, other than as a test documents it.
fn changes_tests(name: &str) -> bool {
    let is_setting = name == "GPUPROF" || name.starts_with("GPUPROF_");
    (is_setting && !name.starts_with(OF_TESTS)) || name.starts_with("NVTX_INJECTION")
}

/// Removes from the environment what could change a test run.
pub(crate) fn neutral(command: &mut Command) {
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(changes_tests) {
            command.env_remove(name);
        }
    }
    // Snapshots are compared and never accepted. The lines that are counted must contain no colour
    // codes.
    command
        .env("INSTA_UPDATE", "no")
        .env_remove("INSTA_FORCE_PASS")
        .env_remove("TRYBUILD");
    command.env("CARGO_TERM_COLOR", "never");
}

/// A command as a person would type it.
pub(crate) fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program())
        .file_name()
        .unwrap_or_default();
    let words = std::iter::once(program).chain(command.get_args());
    words
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Whether a program can be run and succeeds.
pub(crate) fn runs(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_have_their_seed_and_no_setting() {
        let removed = ["GPUPROF", "GPUPROF_SAMPLE", "NVTX_INJECTION64_PATH"];
        assert!(removed.into_iter().all(changes_tests));
        assert!(
            !["GPUPROF_TEST_SEED", "GPUPROF_TEST_CASES", "PATH"]
                .into_iter()
                .any(changes_tests)
        );
    }

    #[test]
    fn tests_and_examples_are_read_from_metadata() {
        let metadata = serde_json::json!({
            "target_directory": "/t",
            "packages": [{
                "name": "gpuprof",
                "rust_version": "1.95",
                "targets": [
                    {"kind": ["lib"], "name": "gpuprof", "test": true},
                    {"kind": ["test"], "name": "call-count", "test": true},
                    {"kind": ["test"], "name": "by_hand", "test": false},
                ],
            }, {
                "name": EXAMPLES[0],
                "targets": [
                    {"kind": ["example"], "name": "02_b", "test": false},
                    {"kind": ["example"], "name": "01_a", "test": false},
                ],
            }],
        });
        let workspace = Workspace::read(&metadata).expect("complete");
        let expected = TestTarget {
            package: "gpuprof".into(),
            name: "call_count".into(),
        };
        assert_eq!(workspace.tests, [expected]);
        let examples = [("01_a", EXAMPLES[0]), ("02_b", EXAMPLES[0])];
        let examples = examples.map(|(name, package)| (name.to_owned(), package.to_owned()));
        assert_eq!(workspace.examples, BTreeMap::from(examples));
        assert_eq!(workspace.rust_version, "1.95");
    }

    #[test]
    fn this_repository_can_be_read() {
        let workspace = Workspace::load().expect("cargo metadata");
        assert!(
            workspace
                .tests
                .iter()
                .any(|test| test.package == "nvtx-recorder")
        );
    }
}
