//! The text around the lines of kernels that a profile names, read from their source files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::kernel_lines::{MAX_KERNELS, NEAR, kernels_with_lines};
use crate::profile::Profile;
use crate::{sanitize, wall_clock};

/// Files that are read, and bytes of each: a longer one has no text.
const MAX_FILES: usize = 16;
const MAX_BYTES: u64 = 4 << 20;
/// Characters of a line that are shown.
const MAX_CHARS: usize = 200;
/// Spaces for a tab.
const TAB: &str = "    ";

/// Endings of the names of files in which compilers find kernels.
const ENDINGS: [&str; 15] = [
    "cu", "cuh", "c", "cc", "cpp", "cxx", "h", "hh", "hpp", "hxx", "inl", "jl", "ptx", "py", "rs",
];

/// Lines of source files, by file and number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceTexts {
    files: BTreeMap<String, BTreeMap<u32, String>>,
}

impl SourceTexts {
    /// Reads the lines that [`write_with_source`](super::write_with_source) shows, from at most 16
    /// regular files with the endings of source files, of at most 4 MiB each. With `within`, only
    /// those in this folder: a profile that came from elsewhere may name any file.
    ///
    /// A file that cannot be read, that was changed after the profile was made, or that lacks one
    /// of the lines has no text. Bytes that are no UTF-8 are replaced.
    #[must_use]
    pub fn read(profile: &Profile, within: Option<&Path>) -> Self {
        let mut wanted = BTreeMap::<&str, BTreeSet<u32>>::new();
        let kernels = kernels_with_lines(profile).into_iter().take(MAX_KERNELS);
        for line in kernels.flat_map(|kernel| kernel.lines) {
            if wanted.len() < MAX_FILES || wanted.contains_key(line.file) {
                wanted.entry(line.file).or_default().insert(line.line);
            }
        }
        // No file is in a folder that is not there.
        let within = within.map(|folder| folder.canonicalize().unwrap_or_default());
        let end = end(profile);
        let files = wanted.into_iter().filter_map(|(file, lines)| {
            let text = read(Path::new(file), within.as_deref(), end)?;
            Some((file.to_owned(), lines_near(&text, &lines)?))
        });
        Self {
            files: files.collect(),
        }
    }

    /// The lines of a file, by number; `None` if it has no text.
    pub(super) fn of_file(&self, file: &str) -> Option<&BTreeMap<u32, String>> {
        self.files.get(file)
    }
}

/// When the profile was made; `None` if it does not say so.
fn end(profile: &Profile) -> Option<SystemTime> {
    let start = Duration::from_nanos(wall_clock::unix_ns(&profile.started_at)?);
    let end = start.checked_add(Duration::from_nanos(profile.wall_ns))?;
    SystemTime::UNIX_EPOCH.checked_add(end)
}

fn read(path: &Path, within: Option<&Path>, end: Option<SystemTime>) -> Option<String> {
    let path = path.canonicalize().ok()?;
    let ending = path.extension()?.to_str()?;
    let is_inside = |folder: &Path| !folder.as_os_str().is_empty() && path.starts_with(folder);
    let is_outside = within.is_some_and(|folder| !is_inside(folder));
    if is_outside || !ENDINGS.contains(&ending) {
        return None;
    }
    // Pipes and devices are not opened: that can block.
    let data = path.metadata().ok()?;
    let is_changed = end.is_some_and(|end| data.modified().is_ok_and(|at| at > end));
    if !data.is_file() || data.len() > MAX_BYTES || is_changed {
        return None;
    }
    let mut bytes = Vec::new();
    let file = File::open(path).ok()?;
    file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The lines and those near them; `None` if the text lacks one of them.
fn lines_near(text: &str, wanted: &BTreeSet<u32>) -> Option<BTreeMap<u32, String>> {
    let mut near = BTreeMap::new();
    for (number, line) in (1_u32..).zip(text.lines()) {
        let first = number.saturating_sub(NEAR);
        if wanted
            .range(first..=number.saturating_add(NEAR))
            .next()
            .is_some()
        {
            let line = line.trim_end().replace('\t', TAB);
            near.insert(number, sanitize::short(&line, MAX_CHARS).into_owned());
        }
    }
    wanted
        .iter()
        .all(|line| near.contains_key(line))
        .then_some(near)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{KernelStalls, StallLine, Stalls};

    /// One kernel with samples at these lines of a file.
    fn profile(file: &Path, lines: &[u32]) -> Profile {
        let lines = lines.iter().map(|line| StallLine {
            file: file.to_string_lossy().into_owned(),
            line: *line,
            ..StallLine::default()
        });
        let kernel = KernelStalls {
            samples: 1_000,
            lines: lines.collect(),
            ..KernelStalls::default()
        };
        Profile {
            stalls: Some(Stalls {
                kernels: vec![kernel],
                ..Stalls::default()
            }),
            ..Profile::default()
        }
    }

    fn texts(file: &Path, lines: &[u32]) -> Option<Vec<(u32, String)>> {
        let texts = SourceTexts::read(&profile(file, lines), None);
        let of_file = texts.files.values().next()?;
        Some(of_file.clone().into_iter().collect())
    }

    fn numbered(last: u32) -> String {
        (1..=last).map(|line| format!("line {line}\n")).collect()
    }

    #[test]
    fn only_lines_near_the_sampled_ones_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("adam.cu");
        std::fs::write(&file, numbered(100)).unwrap();
        let numbers = |lines: &[u32]| -> Vec<u32> {
            let texts = texts(&file, lines).unwrap();
            texts.iter().map(|(number, _)| *number).collect()
        };
        assert_eq!(
            numbers(&[1, 50, 51]),
            [1, 2, 3, 4, 47, 48, 49, 50, 51, 52, 53, 54]
        );
        assert_eq!(numbers(&[100]), [97, 98, 99, 100]);
        // The file is not the one that was compiled.
        assert_eq!(texts(&file, &[50, 101]), None);
        assert_eq!(texts(&file, &[0]), None);
        assert_eq!(texts(&file, &[u32::MAX]), None);
    }

    #[test]
    fn lines_are_cut_and_bytes_that_are_no_text_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("adam.cu");
        let long = "x".repeat(1_000);
        let text = [b"\tsum\xff += a\x1b[31m;\r\n", long.as_bytes()].concat();
        std::fs::write(&file, text).unwrap();
        let texts = texts(&file, &[1]).unwrap();
        assert_eq!(texts[0], (1, "    sum\u{fffd} += a\\u{1b}[31m;".into()));
        assert_eq!(texts[1].1.chars().count(), MAX_CHARS);
    }

    #[test]
    fn what_is_no_source_file_of_the_run_has_no_text() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let is_read = |file: &Path| texts(file, &[1]).is_some();
        for name in ["id_rsa", "secrets.txt", "adam.cu"] {
            std::fs::write(path(name), "text").unwrap();
        }
        assert!(is_read(&path("adam.cu")));
        assert!(!is_read(&path("id_rsa")) && !is_read(&path("secrets.txt")));
        assert!(!is_read(&path("missing.cu")) && !is_read(Path::new("")));
        std::fs::create_dir(path("folder.cu")).unwrap();
        assert!(!is_read(&path("folder.cu")));
        std::os::unix::net::UnixListener::bind(path("socket.cu")).unwrap();
        assert!(!is_read(&path("socket.cu")));
        let large = File::create(path("large.cu")).unwrap();
        large.set_len(MAX_BYTES + 1).unwrap();
        assert!(!is_read(&path("large.cu")));
        // Written after the run.
        let mut profile = profile(&path("adam.cu"), &[1]);
        profile.started_at = "2026-01-01T00:00:00Z".into();
        assert_eq!(SourceTexts::read(&profile, None), SourceTexts::default());
        profile.started_at = "2226-01-01T00:00:00Z".into();
        assert_ne!(SourceTexts::read(&profile, None), SourceTexts::default());
    }

    #[test]
    fn a_profile_from_elsewhere_reaches_no_file_outside_of_the_folder() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let (inside, outside) = (root.join("project"), root.join("secret.cu"));
        std::fs::create_dir(&inside).unwrap();
        std::fs::write(&outside, "secret").unwrap();
        std::fs::write(inside.join("adam.cu"), "text").unwrap();
        std::os::unix::fs::symlink(&outside, inside.join("link.cu")).unwrap();
        let is_read = |file: &Path| {
            let texts = SourceTexts::read(&profile(file, &[1]), Some(&inside));
            texts != SourceTexts::default()
        };
        assert!(is_read(&inside.join("adam.cu")));
        assert!(!is_read(&outside));
        assert!(!is_read(&inside.join("../secret.cu")));
        assert!(!is_read(&inside.join("link.cu")));
        let missing = SourceTexts::read(&profile(&outside, &[1]), Some(&root.join("missing")));
        assert_eq!(missing, SourceTexts::default());
    }
}
