//! What kind of machine this is, and its package manager.
//!
//! This file only gathers facts. [`super::plan`] decides from them what to install, so its tests
//! can pass made-up machines.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::workspace;

/// Systems that share a package manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Debian,
    Fedora,
    Arch,
    Alpine,
}

impl Family {
    pub(super) const ALL: [Family; 4] =
        [Family::Debian, Family::Fedora, Family::Arch, Family::Alpine];

    /// The family's name in messages.
    pub(super) fn names(self) -> &'static str {
        match self {
            Family::Debian => "Debian, Ubuntu:",
            Family::Fedora => "Fedora, RHEL:",
            Family::Arch => "Arch:",
            Family::Alpine => "Alpine:",
        }
    }

    /// The command that installs packages.
    pub(super) fn install(self) -> &'static str {
        match self {
            Family::Debian => "apt-get install",
            Family::Fedora => "dnf install",
            Family::Arch => "pacman -S",
            Family::Alpine => "apk add",
        }
    }

    /// The family by the text of `/etc/os-release`: its `ID`, else its `ID_LIKE`.
    fn of(os_release: &str) -> Option<Family> {
        let value = |key: &str| {
            let line = os_release
                .lines()
                .find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
            line.unwrap_or_default()
                .trim_matches(['"', '\''])
                .to_string()
        };
        let ids = format!("{} {}", value("ID"), value("ID_LIKE"));
        ids.split_whitespace().find_map(|id| match id {
            "debian" | "ubuntu" => Some(Family::Debian),
            "fedora" | "rhel" | "centos" => Some(Family::Fedora),
            "arch" => Some(Family::Arch),
            "alpine" => Some(Family::Alpine),
            _ => None,
        })
    }
}

/// The facts that decide whether and how something may be installed.
#[derive(Debug)]
pub(super) struct System {
    pub(super) family: Option<Family>,
    /// The effective user is root.
    pub(super) root: bool,
    /// sudo works without a password.
    pub(super) sudo: bool,
    /// apt-get can be run.
    pub(super) apt_get: bool,
}

impl System {
    /// The facts of this machine.
    pub(super) fn here() -> System {
        let os_release = fs::read_to_string("/etc/os-release").unwrap_or_default();
        let id = Command::new("id").arg("-u").output();
        System {
            family: Family::of(&os_release),
            root: id.is_ok_and(|output| output.stdout.trim_ascii() == b"0"),
            sudo: workspace::runs("sudo", &["-n", "true"]),
            apt_get: workspace::runs("apt-get", &["--version"]),
        }
    }
}

/// Installs packages with apt-get. The package lists are fetched first where there are none, as in
/// a fresh container, and once more when the lists were too old to install from.
pub(super) fn install(packages: &[&str], sudo: bool) -> Result<(), String> {
    let install = || {
        let mut command = apt_get(sudo, &["install", "--yes", "--no-install-recommends"]);
        workspace::succeed(command.args(packages))
    };
    let update = || workspace::succeed(&mut apt_get(sudo, &["update"]));
    if have_lists(Path::new("/var/lib/apt/lists")) {
        return install().or_else(|_| update().and_then(|()| install()));
    }
    update().and_then(|()| install())
}

/// Whether apt knows any package. Lists may be packed: `…_Packages`, `…_Packages.lz4`.
fn have_lists(folder: &Path) -> bool {
    let Ok(entries) = fs::read_dir(folder) else {
        return false;
    };
    entries
        .flatten()
        .any(|entry| entry.file_name().to_string_lossy().contains("_Packages"))
}

/// apt-get that asks nothing.
fn apt_get(sudo: bool, arguments: &[&str]) -> Command {
    let mut words = vec!["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"];
    if sudo {
        words.splice(0..0, ["sudo", "-n"]);
    }
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).args(arguments);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_told_by_os_release() {
        for (text, family) in [
            (
                "PRETTY_NAME=\"Debian GNU/Linux 12\"\nVERSION_ID=\"12\"\nID=debian\n",
                Some(Family::Debian),
            ),
            (
                "ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n",
                Some(Family::Debian),
            ),
            (
                "ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n",
                Some(Family::Fedora),
            ),
            ("ID=manjaro\nID_LIKE=arch\n", Some(Family::Arch)),
            ("ID=alpine\n", Some(Family::Alpine)),
            ("ID=nixos\n", None),
            ("", None),
        ] {
            assert_eq!(Family::of(text), family, "{text}");
        }
    }

    #[test]
    fn apt_get_never_asks() {
        assert_eq!(
            workspace::shown(&apt_get(true, &["update"])),
            "sudo -n env DEBIAN_FRONTEND=noninteractive apt-get update"
        );
        assert_eq!(
            workspace::shown(&apt_get(false, &["update"])),
            "env DEBIAN_FRONTEND=noninteractive apt-get update"
        );
    }

    #[test]
    fn empty_lists_are_noticed() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(!have_lists(folder.path()));
        fs::create_dir(folder.path().join("partial")).expect("a folder");
        assert!(!have_lists(folder.path()));
        fs::write(
            folder
                .path()
                .join("mirror_dists_stable_main_binary-amd64_Packages.lz4"),
            "",
        )
        .expect("a file");
        assert!(have_lists(folder.path()));
    }
}
