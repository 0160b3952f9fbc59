//! Brings Nsight Systems into `target/nsys/`, and changes nothing outside it.
//!
//! `apt install` is not used: the packages depend on NVIDIA driver libraries, which can replace the
//! machine's own. apt-get runs here with separate sources and state and without root, and dpkg only
//! unpacks.

use std::env::consts::ARCH;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::apt_sources::Distribution;
use crate::workspace;

/// Nsight Systems in two parts, and the libraries of its importer that a small system lacks.
const PACKAGES: [&str; 9] = [
    "nsight-systems",
    "nsight-systems-target",
    "libssh-4",
    "libpfm4",
    "libgssapi-krb5-2",
    "libkrb5-3",
    "libk5crypto3",
    "libkrb5support0",
    "libkeyutils1",
];

/// The end of each message: what to do instead.
const ELSEWHERE: &str = "Nsight Systems is taken from the distribution's own packages, \
on x86_64 with Debian \
(non-free) or Ubuntu (multiverse), over the network; run `cargo xtask nsys setup` there";

/// Where its parts are.
#[derive(Clone, Debug)]
pub(super) struct Unpacked {
    /// The command line program.
    pub(super) nsys: PathBuf,
    /// Turns what nsys has recorded into a report.
    pub(super) importer: PathBuf,
    /// For `LD_LIBRARY_PATH` of the importer.
    pub(super) libraries: PathBuf,
    /// The folder of all of these.
    pub(super) folder: PathBuf,
}

/// Unpacks Nsight Systems, unless it is unpacked already.
///
/// # Errors
/// A text for the user: why it is unavailable here, and what to run.
pub(super) fn ensure(target: &Path) -> Result<Unpacked, String> {
    let folder = target.join("nsys");
    let root = folder.join("root/usr/lib");
    let unpacked = Unpacked {
        nsys: root.join("x86_64-linux-gnu/nsight-systems/target-linux-x64/nsys"),
        importer: root.join("nsight-systems/host-linux-x64/QdstrmImporter"),
        libraries: root.join("x86_64-linux-gnu"),
        folder: folder.clone(),
    };
    // Written last, so that an interrupted run has no stamp.
    let stamp = folder.join("unpacked");
    if fs::read_to_string(&stamp).ok() != Some(PACKAGES.join("\n")) {
        fetch(&folder)?;
        for program in [&unpacked.nsys, &unpacked.importer] {
            if !program.is_file() {
                return Err(format!("the packages hold no {}", program.display()));
            }
        }
        fs::write(&stamp, PACKAGES.join("\n")).map_err(|error| at(&stamp, &error))?;
    }
    Ok(unpacked)
}

fn fetch(folder: &Path) -> Result<(), String> {
    if ARCH != "x86_64" {
        return Err(format!("this machine is {ARCH}; {ELSEWHERE}"));
    }
    let os_release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let distribution = Distribution::of(&os_release)
        .ok_or_else(|| format!("this is neither Debian nor Ubuntu; {ELSEWHERE}"))?;
    println!(
        "unpacking Nsight Systems from {} into {} (170 MB to fetch, 600 MB unpacked); \
         the system is not changed",
        distribution.component,
        folder.display()
    );
    let apt = Apt::prepare(&distribution, folder)?;
    apt.get(&["update"], folder)?;
    let packages = folder.join("packages");
    workspace::empty_folder(&packages)?;
    let mut download = vec!["download"];
    download.extend(PACKAGES);
    apt.get(&download, &packages)?;
    let root = folder.join("root");
    workspace::empty_folder(&root)?;
    for entry in fs::read_dir(&packages).map_err(|error| at(&packages, &error))? {
        let package = entry.map_err(|error| at(&packages, &error))?.path();
        let mut unpack = Command::new("dpkg");
        unpack.arg("-x").arg(&package).arg(&root);
        workspace::succeed(&mut unpack)?;
    }
    // The downloads, 250 MB, are no longer needed.
    for done in [packages, folder.join("apt")] {
        fs::remove_dir_all(&done).map_err(|error| at(&done, &error))?;
    }
    Ok(())
}

/// apt-get with sources and state in a folder of its own.
struct Apt {
    options: Vec<String>,
}

impl Apt {
    fn prepare(distribution: &Distribution, folder: &Path) -> Result<Apt, String> {
        let folder = folder.join("apt");
        workspace::empty_folder(&folder)?;
        for below in ["sources.list.d", "lists/partial", "cache/archives/partial"] {
            let below = folder.join(below);
            fs::create_dir_all(&below).map_err(|error| at(&below, &error))?;
        }
        let sources = own_sources(distribution);
        if sources.iter().all(|(_, text)| text.is_empty()) {
            return Err(format!(
                "apt's sources name no repository of {}; {ELSEWHERE}",
                distribution.codename
            ));
        }
        for (name, text) in sources {
            let file = folder.join("sources.list.d").join(name);
            fs::write(&file, text).map_err(|error| at(&file, &error))?;
        }
        let of = |name: &str| folder.join(name).display().to_string();
        let options = vec![
            "Dir::Etc::SourceList=/dev/null".into(),
            format!("Dir::Etc::SourceParts={}", of("sources.list.d")),
            format!("Dir::State::Lists={}", of("lists")),
            format!("Dir::Cache={}", of("cache")),
            format!("Dir::Cache::Archives={}", of("cache/archives")),
            // The folder belongs to the user, and apt's sandbox user may not read it.
            "APT::Sandbox::User=root".into(),
            "Acquire::Languages=none".into(),
            "Acquire::Retries=2".into(),
            // Otherwise an update without network would succeed, and the error would be an unknown
            // package.
            "APT::Update::Error-Mode=any".into(),
        ];
        Ok(Apt { options })
    }

    /// Runs apt-get in `folder`; its output is part of the error if it fails.
    fn get(&self, arguments: &[&str], folder: &Path) -> Result<(), String> {
        let mut command = Command::new("apt-get");
        command.args(["--quiet", "--quiet"]);
        for option in &self.options {
            command.args(["-o", option]);
        }
        command
            .args(arguments)
            .current_dir(folder)
            .stdin(Stdio::null());
        let what = format!("apt-get {}", arguments.join(" "));
        let output = command
            .output()
            .map_err(|error| format!("cannot run {what}: {error}; {ELSEWHERE}"))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(format!("{what} failed\n{}\n{ELSEWHERE}", said.trim_end()))
    }
}

/// The distribution's entries of each of apt's source files, with the name of the copy.
fn own_sources(distribution: &Distribution) -> Vec<(String, String)> {
    let mut files = vec![PathBuf::from("/etc/apt/sources.list")];
    if let Ok(entries) = fs::read_dir("/etc/apt/sources.list.d") {
        files.extend(entries.flatten().map(|entry| entry.path()));
    }
    let mut sources = Vec::new();
    for file in files {
        let Ok(text) = fs::read_to_string(&file) else {
            continue;
        };
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let (kind, text) = match file.extension().and_then(|extension| extension.to_str()) {
            Some("list") => ("list", distribution.one_line(&text)),
            Some("sources") => ("sources", distribution.paragraphs(&text)),
            _ => continue,
        };
        sources.push((format!("{stem}.{kind}"), text));
    }
    sources
}

fn at(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}
