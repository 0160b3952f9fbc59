//! `gpuprof merge`: the profiles of several ranks or runs as one.

use std::collections::HashSet;
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use clap::Args;
use gpuprof_report::json;
use gpuprof_report::merge::Merger;

use crate::input::{read_profile, shown};
use crate::input_files;
use crate::ordered_reads;
use crate::output::{self, Exit, complain};

/// Adds the profiles of several ranks or runs into one
///
/// Counts and times are added, percentiles are those of all calls together, and a section of the
/// report says how the ranks differ. Files that cannot be read are named and skipped; the exit code
/// is then 2. If only some profiles have CUPTI's records, the result is of those with records or of
/// those without, whichever are more, and the others are named.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct MergeArguments {
    /// JSON profiles, folders of them (their *.json files), or patterns such as 'runs/*.json'
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Write the merged profile into this file
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  gpuprof merge rank0.json rank1.json -o job.json
  gpuprof merge profiles/ -o job.json && gpuprof show job.json";

/// Runs the command.
pub(crate) fn run(arguments: &MergeArguments) -> Exit {
    let mut files = match input_files::find(&arguments.files, Some(&arguments.output)) {
        Ok(files) => files,
        Err(problem) => {
            complain(problem);
            return Exit::BadInput;
        }
    };
    for repeated in remove_repeated(&mut files) {
        complain(format_args!(
            "{} is given more than once; it is merged once",
            shown(&repeated)
        ));
    }
    let merged = merge(&files);
    if merged.added.is_empty() {
        complain("no profile could be read; nothing is written");
        return Exit::BadInput;
    }
    if let Some(left_out) = merged.merger.left_out() {
        let first = merged.added.get(left_out.first);
        let first = first.map_or_else(String::new, |file| {
            format!("; the first is {}", shown(file))
        });
        complain(format_args!("{left_out}{first}"));
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

/// Keeps each file where it comes first, whatever paths lead to it. Returns those that came again.
fn remove_repeated(files: &mut Vec<PathBuf>) -> Vec<PathBuf> {
    let mut known = HashSet::new();
    let mut is_new = |file: &PathBuf| {
        // A file that is not there is named when it is read.
        let path = file.canonicalize();
        path.map_or(true, |path| known.insert(path))
    };
    let (first, repeated) = files.drain(..).partition(|file| is_new(file));
    *files = first;
    repeated
}

/// The sum of the files that could be read.
#[derive(Default)]
struct MergedFiles<'a> {
    merger: Merger,
    added: Vec<&'a Path>,
    failed: usize,
}

/// Adds the files in their order, so that the result is always the same.
fn merge(files: &[PathBuf]) -> MergedFiles<'_> {
    let mut merged = MergedFiles::default();
    let ControlFlow::Continue(()) = ordered_reads::for_each(
        files,
        |_, file| read_profile(file),
        |at, profile| -> ControlFlow<Infallible> {
            match profile {
                Ok(profile) => {
                    merged.merger.add(&profile);
                    merged.added.extend(files.get(at).map(PathBuf::as_path));
                }
                Err(error) => {
                    merged.failed += 1;
                    complain(error);
                }
            }
            ControlFlow::Continue(())
        },
    );
    merged
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
        assert_eq!(merged.failed, 0);
        let profile = merged.merger.finish();
        assert_eq!((&*profile.program, profile.diagnostics.calls), ("p0", 20));
        let missing = [files[0].clone(), PathBuf::from("/nothing/here")];
        assert_eq!(merge(&missing).failed, 1);
    }
}
