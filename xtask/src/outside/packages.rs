//! What `cargo publish` uploads, unpacked: a program with it lacks what a package lacks.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Profile, Program};
use crate::sim;
use crate::workspace::{self, Workspace};

/// The version of every package of the workspace.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The unpacked packages.
pub(super) struct Packages {
    folder: PathBuf,
}

impl Packages {
    /// Packages what is published, and unpacks it.
    ///
    /// # Errors
    /// A text for the user: cargo does not package, or a package cannot be unpacked.
    pub(super) fn unpack(workspace: &Workspace) -> Result<Self, String> {
        let target = workspace.target.join("outside");
        let folder = target.join("packages");
        let failed = |error| format!("{}: {error}", folder.display());
        let mut package = workspace::cargo(["package", "--quiet", "--no-verify", "--allow-dirty"]);
        for name in &workspace.published {
            package.args(["--package", name]);
        }
        workspace::succeed(package.env("CARGO_TARGET_DIR", &target))?;
        workspace::empty_folder(&folder)?;
        let mut patch = String::from("[patch.crates-io]\n");
        for name in &workspace.published {
            let package = format!("{name}-{VERSION}");
            let mut tar = Command::new("tar");
            // With the present time: otherwise cargo takes what an earlier run built.
            tar.arg("--extract")
                .arg("--touch")
                .arg("--gzip")
                .arg("--file");
            tar.arg(target.join(format!("package/{package}.crate")));
            workspace::succeed(tar.arg("--directory").arg(&folder))?;
            patch += &format!("{name} = {{ path = {:?} }}\n", folder.join(package));
        }
        fs::write(folder.join("patch.toml"), patch).map_err(failed)?;
        Ok(Self { folder })
    }

    /// A configuration for cargo, by which the registry has these packages.
    pub(super) fn patch(&self) -> PathBuf {
        self.folder.join("patch.toml")
    }

    /// Without libclang the build of a program that is built, and `gpuprof doctor`, print the lines
    /// that the README has.
    ///
    /// # Errors
    /// A text for the user: a line that is missing in one of them.
    pub(super) fn check_libclang_lines(
        &self,
        build: &mut Command,
        target: &Path,
    ) -> Result<(), String> {
        let readme = workspace::root().join("README.md");
        let readme = fs::read_to_string(readme).map_err(|error| format!("README.md: {error}"))?;
        let needs = readme.split("the feature nvtx needs libclang").nth(1);
        let fixes = needs.into_iter().flat_map(|text| text.lines().skip(1));
        let fixes: Vec<&str> = fixes.map(str::trim).take(2).collect();
        let mut doctor = Command::new(target.join("debug/gpuprof"));
        for command in [build, doctor.arg("doctor")] {
            // An empty folder.
            let nowhere = self.folder.join("nowhere");
            fs::create_dir_all(&nowhere).map_err(|error| format!("{nowhere:?}: {error}"))?;
            let output = command.env("LIBCLANG_PATH", nowhere).output();
            let shown = workspace::shown(command);
            let output = output.map_err(|error| format!("{shown}: {error}"))?;
            let [told, answered] =
                [&output.stderr, &output.stdout].map(|bytes| String::from_utf8_lossy(bytes));
            let printed = format!("{told}{answered}");
            let is_told = fixes.len() == 2 && fixes.iter().all(|fix| printed.contains(fix));
            if !is_told {
                return Err(format!(
                    "without libclang, `{shown}` does not print the README's {fixes:?}:\n{printed}"
                ));
            }
        }
        Ok(())
    }

    /// Builds the command from its package, and runs `program` under it on the simulated device.
    ///
    /// # Errors
    /// A text for the user: the command does not build, the program fails, or no table is printed.
    pub(super) fn run(&self, program: &Path, target: &Path) -> Result<(), String> {
        let command = Program {
            folder: self.folder.join(format!("gpuprof-cli-{VERSION}")),
        };
        // The target folder is in a workspace, of which the package is no part.
        command.append_to("Cargo.toml", "\n[workspace]\n")?;
        let mut build = command.build(target, Profile::Debug);
        build.arg("--config").arg(self.patch());
        workspace::succeed(build.env("CARGO_PROFILE_DEV_DEBUG", "0"))?;
        let mut run = Command::new(target.join("debug/gpuprof"));
        workspace::neutral(&mut run);
        run.args(["run", "--cupti", "--"]).arg(program);
        run.env("LD_LIBRARY_PATH", sim::libraries()?);
        let shown = workspace::shown(&run);
        let output = run.output().map_err(|error| format!("{shown}: {error}"))?;
        let printed = String::from_utf8_lossy(&output.stderr);
        let has_table = ["simulated device", "round_trip", "nothing"]
            .iter()
            .all(|part| printed.contains(part));
        if output.status.success() && has_table {
            Ok(())
        } else {
            Err(format!(
                "`{shown}` printed no table ({}):\n{printed}",
                output.status
            ))
        }
    }
}
