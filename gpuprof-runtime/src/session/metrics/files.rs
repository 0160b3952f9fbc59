//! The text files of `prometheus=PATH`: for jobs that end before anybody asks them.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use super::scrape::{last_scrape, to_text};
use crate::os::atomic_file;
use crate::session::write_outputs;

/// The files, with their placeholders filled in.
static FILES: OnceLock<Vec<PathBuf>> = OnceLock::new();

pub(super) fn set(files: &[PathBuf]) {
    let _ = FILES.set(
        files
            .iter()
            .map(|path| write_outputs::fill_placeholders(path))
            .collect(),
    );
}

/// Whether there are files for checkpoints to write.
pub(in crate::session) fn has_files() -> bool {
    files().any(|path| atomic_file::is_replaced(path))
}

fn files() -> impl Iterator<Item = &'static PathBuf> {
    FILES.get().into_iter().flatten()
}

/// Rewrites the files that can be replaced, and no pipe and no device. Returns a line for the user
/// if one cannot be written.
pub(in crate::session) fn rewrite_files(lock_limit: Duration) -> Option<String> {
    let replaced = files().filter(|path| atomic_file::is_replaced(path));
    write(&replaced.collect::<Vec<_>>(), lock_limit)
}

/// Writes every file. Returns a line for the user if one cannot be written.
pub(in crate::session) fn write_files(lock_limit: Duration) -> Option<String> {
    write(&files().collect::<Vec<_>>(), lock_limit)
}

fn write(files: &[&PathBuf], lock_limit: Duration) -> Option<String> {
    if files.is_empty() {
        return None;
    }
    let Some(families) = last_scrape(lock_limit) else {
        return Some(format!(
            "no metrics: another thread held a lock on the measurements for {lock_limit:?}"
        ));
    };
    let text = to_text(&families);
    let mut problem = None;
    for path in files {
        if let Err(error) = atomic_file::write(path, &text) {
            let path = write_outputs::shown(path);
            problem = Some(format!("cannot write the metrics {path} ({error})"));
        }
    }
    problem
}
