//! `gpuprof merge`: the profiles, or the time lines, of several ranks or runs as one.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

use clap::Args;
use gpuprof_report::json;
use gpuprof_report::merge::Merger;

use super::merge_traces;
use crate::input::{read_profile, shown};
use crate::input_files;
use crate::output::{self, Exit, complain};

/// Adds the profiles of several ranks or runs into one; also time lines
///
/// Counts and times are added, percentiles are those of all calls together, and a section of the
/// report says how the ranks differ. Files that cannot be read are named and skipped; the exit code
/// is then 2. Time lines of several ranks become one, in the order given; the files must all be
/// time lines of one format.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// JSON profiles, folders of them (their *.json files), or patterns such as 'runs/*.json'; or
    /// time lines, all as Chrome JSON or all as .pftrace
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Write the merged profile or time line into this file
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  gpuprof merge rank0.json rank1.json -o job.json
  gpuprof merge profiles/ -o job.json && gpuprof show job.json
  gpuprof merge rank0.pftrace rank1.pftrace -o job.pftrace";

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Exit {
    let files = match input_files::find(&arguments.files, Some(&arguments.output)) {
        Ok(files) => files,
        Err(problem) => {
            complain(problem);
            return Exit::BadInput;
        }
    };
    if let Some(format) = merge_traces::format(&files) {
        return merge_traces::run(&files, format, &arguments.output);
    }
    let merged = merge(&files);
    let added = files.len() - merged.failed;
    if added == 0 {
        complain("no profile could be read; nothing is written");
        return Exit::BadInput;
    }
    let profile = merged.merger.finish();
    let text = json::to_string(&profile);
    match output::write(text.as_bytes(), Some(&arguments.output)) {
        Exit::Success if merged.failed == 0 => Exit::Success,
        Exit::Success => {
            complain(format_args!(
                "{} is without {} of {} files, which could not be read",
                shown(&arguments.output),
                merged.failed,
                files.len()
            ));
            Exit::BadInput
        }
        failed => failed,
    }
}

/// What is shared by the threads that read.
#[derive(Default)]
struct Merged {
    merger: Merger,
    /// Files that were added or have failed.
    done: usize,
    failed: usize,
}

/// Adds the files in their order, whichever thread reads them, so that the result is always the
/// same. A thread holds one profile at a time.
fn merge(files: &[PathBuf]) -> Merged {
    let merged = Mutex::new(Merged::default());
    let turn = Condvar::new();
    let next = AtomicUsize::new(0);
    let has_terminal = io::stderr().is_terminal();
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(file) = files.get(number) else {
                break;
            };
            let profile = read_profile(file);
            let merged = merged.lock().unwrap_or_else(PoisonError::into_inner);
            let merged = turn.wait_while(merged, |merged| merged.done != number);
            let mut merged = merged.unwrap_or_else(PoisonError::into_inner);
            match profile {
                Ok(profile) => merged.merger.add(&profile),
                Err(error) => {
                    merged.failed += 1;
                    clear_progress(has_terminal);
                    complain(error);
                }
            }
            merged.done += 1;
            show_progress(has_terminal, merged.done, files.len());
            turn.notify_all();
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads.min(files.len()) {
            scope.spawn(work);
        }
    });
    clear_progress(has_terminal);
    merged.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Columns of the progress bar.
const BAR: usize = 30;

/// Draws how many files are done, a hundred times in all.
fn show_progress(has_terminal: bool, done: usize, files: usize) {
    let is_due = done.is_multiple_of((files / 100).max(1));
    if has_terminal && is_due {
        let full = done * BAR / files;
        let _ = write!(
            io::stderr(),
            "\r[{}{}] {done} of {files} files",
            "#".repeat(full),
            "-".repeat(BAR - full)
        );
    }
}

fn clear_progress(has_terminal: bool) {
    if has_terminal {
        let _ = write!(io::stderr(), "\r\x1b[K");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_added_in_their_order_whichever_is_read_first() {
        let folder = tempfile::tempdir().unwrap();
        let file = |number: usize| {
            let path = folder.path().join(format!("{number}.json"));
            // The first takes longest to read.
            let padding = " ".repeat(if number == 0 { 4 << 20 } else { 0 });
            let text = format!(
                "{padding}{{\"schema\": \"gpuprof.profile/1\", \"program\": \"p{number}\", \
                 \"diagnostics\": {{\"calls\": 1}}}}"
            );
            std::fs::write(&path, text).unwrap();
            path
        };
        let files: Vec<PathBuf> = (0..20).map(file).collect();
        let merged = merge(&files);
        assert_eq!((merged.done, merged.failed), (20, 0));
        let profile = merged.merger.finish();
        assert_eq!((&*profile.program, profile.diagnostics.calls), ("p0", 20));
        let missing = [files[0].clone(), PathBuf::from("/nothing/here")];
        assert_eq!(merge(&missing).failed, 1);
    }
}
