//! What a command needs from the machine, and how it is installed.
//!
//! One command must lead from a clone to the table, and a failed build of a dependency would not
//! say what to install. The decision is a function of plain facts ([`System`], what is missing), so
//! that it can be tested for other machines.

mod chromium;
mod libclang;
mod machine;

use std::env;

use libclang::{Found, Search};
use machine::{Family, System};

use crate::workspace;

pub(crate) use chromium::chromium;

/// Something that cargo cannot provide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// A C compiler, for the C part of the crate nvtx.
    CCompiler,
    /// libclang with its headers: the crate nvtx makes its bindings with bindgen.
    Libclang,
    /// python3 with pip: the compiler of kernels/cuda comes as a Python wheel.
    Pip,
    /// Chromium, in which pages and time lines are opened.
    Chromium,
    /// Node.js with npm, which drive Chromium.
    Node,
    /// Prometheus with promtool.
    Prometheus,
    /// Go with its pprof.
    Go,
    /// Open MPI's mpirun.
    OpenMpi,
    /// A Java runtime, 17 or newer.
    Java,
    /// A C compiler and library for aarch64, and qemu for its programs; by Debian's names alone.
    Aarch64,
}

impl Need {
    /// What demo and test need.
    pub(crate) const ALL: [Need; 3] = [Need::CCompiler, Need::Libclang, Need::Pip];

    /// Its name and its purpose, as the end of a sentence.
    fn reason(self) -> &'static str {
        match self {
            Need::CCompiler => "a C compiler, needed to build the crate nvtx",
            Need::Libclang => "libclang with its headers, needed to build the crate nvtx",
            Need::Pip => "python3 with pip, needed to check the PTX of kernels/",
            Need::Chromium => "Chromium, needed to open pages and time lines",
            Need::Node => "Node.js 18 or newer with npm, needed to open pages and time lines",
            Need::Java => "Java 17 or newer, needed to run Spark",
            Need::OpenMpi => "Open MPI, needed to run a job of several ranks",
            Need::Prometheus => "Prometheus with promtool, needed to check metrics",
            Need::Go => "Go, needed to run go tool pprof",
            Need::Aarch64 => {
                "C compiler for aarch64 with qemu (these are Debian's packages), needed to build \
                 and run programs for it"
            }
        }
    }

    /// The packages that contain it on a family of systems.
    fn packages(self, family: Family) -> &'static [&'static str] {
        match (self, family) {
            (Need::CCompiler, Family::Debian) => &["gcc", "libc6-dev"],
            (Need::CCompiler, Family::Fedora | Family::Arch) => &["gcc"],
            (Need::CCompiler, Family::Alpine) => &["gcc", "musl-dev"],
            (Need::Libclang, Family::Debian) => &["libclang-dev"],
            (Need::Libclang, Family::Fedora) => &["clang-devel"],
            (Need::Libclang, Family::Arch) => &["clang"],
            (Need::Libclang, Family::Alpine) => &["clang-dev"],
            (Need::Pip, Family::Debian | Family::Fedora) => &["python3-pip"],
            (Need::Pip, Family::Arch) => &["python-pip"],
            (Need::Pip, Family::Alpine) => &["py3-pip"],
            (Need::Chromium, _) => &["chromium"],
            (Need::Node, Family::Fedora) => &["nodejs", "nodejs-npm"],
            (Need::Node, _) => &["nodejs", "npm"],
            (Need::Java, Family::Debian) => &["default-jre-headless"],
            (Need::Java, Family::Fedora) => &["java-latest-openjdk-headless"],
            (Need::Java, Family::Arch) => &["jre-openjdk-headless"],
            (Need::Java, Family::Alpine) => &["openjdk17-jre-headless"],
            (Need::OpenMpi, Family::Debian) => &["openmpi-bin"],
            (Need::OpenMpi, _) => &["openmpi"],
            (Need::Prometheus, _) => &["prometheus"],
            (Need::Go, Family::Debian) => &["golang-go"],
            (Need::Go, Family::Fedora) => &["golang"],
            (Need::Go, _) => &["go"],
            (Need::Aarch64, _) => &[
                "gcc-aarch64-linux-gnu",
                "libc6-dev-arm64-cross",
                "qemu-user",
            ],
        }
    }

    /// Whether it is missing on this machine.
    ///
    /// # Errors
    /// A text for the user if no package would help.
    fn missing(self) -> Result<bool, String> {
        match self {
            Need::CCompiler => Ok(!workspace::runs(
                env::var("CC").as_deref().unwrap_or("cc"),
                &["--version"],
            )),
            Need::Pip => Ok(!workspace::runs("python3", &["-m", "pip", "--version"])),
            Need::Chromium => Ok(chromium().is_none()),
            Need::Node => Ok(!workspace::runs("node", &["-e", NODE_IS_NEW])
                || !workspace::runs("npm", &["--version"])),
            Need::Java => Ok(!workspace::runs("java", &["-version"])),
            Need::OpenMpi => Ok(!workspace::runs("mpirun", &["--version"])),
            Need::Prometheus => Ok(!workspace::runs("promtool", &["--version"])),
            Need::Go => Ok(!workspace::runs("go", &["version"])),
            Need::Aarch64 => Ok(!workspace::runs("aarch64-linux-gnu-gcc", &["--version"])
                || !workspace::runs("qemu-aarch64", &["--version"])),
            Need::Libclang => match Search::here().run() {
                Found::Complete => Ok(false),
                Found::NoHeaders | Found::Nothing => Ok(true),
                Found::WrongPath => Err(
                    "LIBCLANG_PATH is set, but has no libclang.so: correct it or unset it".into(),
                ),
            },
        }
    }
}

/// Exits with 0 in a Node.js that has the test runner with its reporters.
const NODE_IS_NEW: &str = "process.exit(parseInt(process.versions.node) >= 18 ? 0 : 1)";

/// What to do if something is missing.
#[derive(Debug, PartialEq, Eq)]
enum Plan {
    /// Install these packages with apt-get, through sudo or not.
    Install {
        packages: Vec<&'static str>,
        sudo: bool,
    },
    /// xtask may not install it; the text says how the user can.
    Tell(String),
}

/// Installs what is missing of `needs`; prints the packages first.
///
/// # Errors
/// A text for the user: what is missing and what to run, or what went wrong while installing.
pub(crate) fn ensure(needs: &[Need]) -> Result<(), String> {
    let missing = missing(needs)?;
    if missing.is_empty() {
        return Ok(());
    }
    match plan(&missing, &System::here()) {
        Plan::Tell(text) => Err(text),
        Plan::Install { packages, sudo } => {
            let reasons: Vec<_> = missing.iter().map(|need| need.reason()).collect();
            println!(
                "installing {} with apt-get: {}",
                packages.join(" "),
                reasons.join("; ")
            );
            machine::install(&packages, sudo)?;
            match self::missing(needs)?.first() {
                None => Ok(()),
                Some(need) => Err(format!(
                    "after the installation there is still no {}",
                    need.reason()
                )),
            }
        }
    }
}

fn missing(needs: &[Need]) -> Result<Vec<Need>, String> {
    let mut missing = Vec::new();
    for &need in needs {
        if need.missing()? {
            missing.push(need);
        }
    }
    Ok(missing)
}

/// The packages of `missing` on a family of systems.
fn packages(missing: &[Need], family: Family) -> Vec<&'static str> {
    missing
        .iter()
        .flat_map(|need| need.packages(family))
        .copied()
        .collect()
}

fn plan(missing: &[Need], system: &System) -> Plan {
    if system.family == Some(Family::Debian) && system.apt_get && (system.root || system.sudo) {
        return Plan::Install {
            packages: packages(missing, Family::Debian),
            sudo: !system.root,
        };
    }
    let reasons: Vec<_> = missing.iter().map(|need| need.reason()).collect();
    let sudo = if system.root { "" } else { "sudo " };
    let line = |family: Family| {
        format!(
            "{sudo}{} {}",
            family.install(),
            packages(missing, family).join(" ")
        )
    };
    let how = match system.family {
        Some(family) => format!(
            "run this, then the same command again:\n\n  {}",
            line(family)
        ),
        None => {
            let lines =
                Family::ALL.map(|family| format!("  {:<16} {}", family.names(), line(family)));
            format!(
                "run the line of your system, then the same command again:\n\n{}",
                lines.join("\n")
            )
        }
    };
    Plan::Tell(format!("there is no {}\n{how}", reasons.join("\nand no ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEEDS: [Need; 2] = [Need::Libclang, Need::Pip];

    fn system(family: Option<Family>, root: bool, sudo: bool) -> System {
        System {
            family,
            root,
            sudo,
            apt_get: family == Some(Family::Debian),
        }
    }

    fn told(missing: &[Need], system: &System) -> String {
        match plan(missing, system) {
            Plan::Tell(text) => text,
            install @ Plan::Install { .. } => panic!("{install:?}"),
        }
    }

    #[test]
    fn debian_installs_as_root_or_with_passwordless_sudo() {
        for (root, free_sudo, sudo) in [
            (true, false, false),
            (true, true, false),
            (false, true, true),
        ] {
            let packages = vec!["libclang-dev", "python3-pip"];
            let expected = Plan::Install { packages, sudo };
            assert_eq!(
                plan(&NEEDS, &system(Some(Family::Debian), root, free_sudo)),
                expected
            );
        }
    }

    #[test]
    fn who_may_not_install_is_told_the_exact_line() {
        let text = told(
            &[Need::Libclang],
            &system(Some(Family::Debian), false, false),
        );
        assert_eq!(
            text,
            "there is no libclang with its headers, needed to build the crate nvtx\n\
             run this, then the same command again:\n\n  sudo apt-get install libclang-dev"
        );
    }

    #[test]
    fn a_browser_and_its_driver_have_packages_in_every_family() {
        let needs = [Need::Chromium, Need::Node];
        let debian = System {
            apt_get: true,
            ..system(Some(Family::Debian), false, false)
        };
        let text = told(&needs, &debian);
        assert!(
            text.ends_with("  sudo apt-get install chromium nodejs npm"),
            "{text}"
        );
        let text = told(&needs, &system(Some(Family::Fedora), true, true));
        assert!(
            text.ends_with("  dnf install chromium nodejs nodejs-npm"),
            "{text}"
        );
    }

    #[test]
    fn other_families_are_told_and_never_changed() {
        for (family, line) in [
            (Family::Fedora, "  dnf install clang-devel python3-pip"),
            (Family::Arch, "  pacman -S clang python-pip"),
            (Family::Alpine, "  apk add clang-dev py3-pip"),
        ] {
            let text = told(&NEEDS, &system(Some(family), true, true));
            assert!(text.ends_with(line), "{text}");
        }
    }

    #[test]
    fn an_unknown_system_is_told_every_line() {
        let text = told(&[Need::CCompiler], &system(None, false, true));
        for line in [
            "sudo apt-get install gcc libc6-dev",
            "sudo dnf install gcc",
            "sudo pacman -S gcc",
            "sudo apk add gcc",
        ] {
            assert!(text.contains(line), "{text}");
        }
    }

    #[test]
    fn a_debian_without_apt_get_is_told() {
        let bare = System {
            apt_get: false,
            ..system(Some(Family::Debian), true, false)
        };
        assert!(told(&NEEDS, &bare).ends_with("  apt-get install libclang-dev python3-pip"));
    }
}
