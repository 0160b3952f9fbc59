//! Checks that are scripts: installing what they import, running them, and counting what they say.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::workspace;

/// Installs the Python packages of a list into `folder`, once for each list of versions, and
/// returns the folder.
///
/// # Errors
/// A text for the user: pip failed.
pub(crate) fn install_python(list: &Path, folder: &Path) -> Result<PathBuf, String> {
    once(list, folder, || {
        let shown = list.strip_prefix(workspace::root()).unwrap_or(list);
        println!("== Python packages of {}", shown.display());
        let mut command = Command::new("python3");
        command.args(["-m", "pip", "--disable-pip-version-check", "install"]);
        command.args(["--quiet", "--root-user-action", "ignore", "--no-deps"]);
        command.arg("--target").arg(folder);
        workspace::succeed(command.arg("--requirement").arg(list))
    })?;
    Ok(folder.to_owned())
}

/// A Python script with the packages of a folder.
pub(crate) fn python(packages: &Path, script: &Path, arguments: &[&Path]) -> Command {
    let mut command = Command::new("python3");
    command.arg("-s").arg(script).args(arguments);
    // Scripts write nothing beside themselves.
    command
        .env("PYTHONPATH", packages)
        .env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

/// Fills `folder` anew unless it was filled for the same list of versions.
pub(crate) fn once(
    list: &Path,
    folder: &Path,
    install: impl FnOnce() -> Result<(), String>,
) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let wanted = fs::read(list).map_err(|error| format!("{}: {error}", list.display()))?;
    let installed = folder.join("installed");
    if fs::read(&installed).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    workspace::empty_folder(folder)?;
    install()?;
    fs::write(installed, wanted).map_err(failed)
}

/// What the checks said, a line each.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ScriptCounts {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
}

impl ScriptCounts {
    /// Runs a script of checks. One that fails without saying so, or says nothing, is a failure.
    pub(crate) fn add(&mut self, check: &mut Command) -> Result<(), String> {
        let shown = workspace::shown(check);
        println!("\n== {shown}");
        let output = check.stderr(Stdio::inherit()).output();
        let output = output.map_err(|error| format!("cannot run `{shown}`: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        print!("{text}");
        *self = self.with(&text, output.status.success());
        Ok(())
    }

    fn with(&self, text: &str, succeeded: bool) -> Self {
        let lines = |word: &str| text.lines().filter(|line| line.starts_with(word)).count();
        let (passed, failed) = (lines("ok "), lines("FAILED "));
        let is_silent = failed == 0 && (!succeeded || passed == 0);
        Self {
            passed: self.passed + passed,
            failed: self.failed + failed + usize::from(is_silent),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_that_ends_early_or_says_nothing_is_a_failure() {
        let counts = |text: &str, succeeded| {
            let counts = ScriptCounts::default().with(text, succeeded);
            (counts.passed, counts.failed)
        };
        assert_eq!(counts("ok a\nok b\n", true), (2, 0));
        assert_eq!(counts("ok a\nFAILED b: 1\n", false), (1, 1));
        assert_eq!(counts("ok a\n", false), (1, 1));
        assert_eq!(counts("", true), (0, 1));
    }

    #[test]
    fn what_is_installed_is_installed_again_for_another_list() {
        let folder = tempfile::tempdir().unwrap();
        let (list, target) = (folder.path().join("list"), folder.path().join("target"));
        let mut times = 0;
        for versions in ["1", "1", "2"] {
            fs::write(&list, versions).unwrap();
            once(&list, &target, || {
                times += 1;
                Ok(())
            })
            .unwrap();
        }
        assert_eq!(times, 2);
        fs::write(&list, "3").unwrap();
        let failed = once(&list, &target, || Err("no network".into()));
        assert_eq!(failed, Err("no network".into()));
        assert!(!target.join("installed").exists());
    }
}
