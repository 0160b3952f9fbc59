//! `gpuprof export`: the profiles of a job as Parquet files that an engine for SQL reads.
//!
//! Each file is read twice. The first time gives the order of the ranks and finds what cannot be
//! exported, so that rows can be written, sorted by rank, while the files are read again: the
//! memory is that of a few profiles, and of a row group for each table.

mod activities;
mod buckets;
mod columns;
mod functions;
mod kernels;
#[cfg(test)]
mod page;
mod partition;
mod processes;
mod steps;
mod tables;
mod writers;

use std::collections::BTreeSet;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use gpuprof_report::merge::JobRanks;
use gpuprof_report::profile::Profile;

use crate::input::{read_profile, shown};
use crate::ordered_reads;
use crate::output::{Exit, complain};

use columns::Process;
use partition::Partition;
use tables::TABLES;
use writers::Writers;

/// The job of profiles that name none.
const UNNAMED: &str = "unnamed";

/// The pair of `meta` that names the job.
const JOB_KEY: &str = "job";

/// Where the files are written to.
pub(crate) struct Destination<'a> {
    pub(crate) folder: &'a Path,
    /// The job; `None` for the one that the profiles name.
    pub(crate) job: Option<&'a str>,
    /// Whether an earlier export of the job is replaced.
    pub(crate) replace: bool,
}

/// Exports the profiles of the files, and reports what is wrong.
pub(crate) fn export(files: &[PathBuf], destination: &Destination<'_>) -> Exit {
    match try_export(files, destination) {
        Ok(0) => Exit::Success,
        Ok(failed) => {
            complain(format_args!(
                "{} is without {failed} of {} files, which could not be exported",
                shown(destination.folder),
                files.len()
            ));
            Exit::BadInput
        }
        Err(problem) => {
            complain(problem);
            Exit::BadInput
        }
    }
}

/// Returns how many files could not be exported.
fn try_export(files: &[PathBuf], destination: &Destination<'_>) -> Result<usize, String> {
    let mut inputs = inputs(files);
    if inputs.is_empty() {
        return Err("no profile could be read; nothing is written".to_owned());
    }
    let job = match destination.job {
        Some(job) => job.to_owned(),
        None => common_job(&inputs)?,
    };
    let partition = Partition::new(destination.folder, &job)?;
    if let Some(existing) = partition.existing()
        && !destination.replace
    {
        return Err(format!(
            "{} exists: the job was exported before; --force replaces it, --job NAME names another",
            shown(&existing)
        ));
    }
    report_ranks(&inputs);
    inputs.sort_by_key(|input| (input.facts.rank.is_none(), input.facts.rank, input.number));
    let is_new = !destination.folder.exists();
    let written = write(&inputs, destination, &partition);
    if written.is_err() && is_new {
        let _ = fs::remove_dir(destination.folder);
    }
    let written = written.map_err(|error| format!("{}: {error}", shown(destination.folder)))?;
    Ok(files.len() - written)
}

/// A file that can be exported.
struct Input {
    path: PathBuf,
    /// Its position among these.
    number: usize,
    facts: FileKey,
}

/// What a file is sorted and partitioned by.
#[derive(Debug, PartialEq, Eq)]
struct FileKey {
    rank: Option<u32>,
    world_size: Option<u32>,
    job: Option<String>,
}

impl FileKey {
    fn of(profile: &Profile) -> Self {
        // The last counts, as in GPUPROF_META.
        let mut meta = profile.meta.iter().rev();
        let job = meta.find(|pair| pair.key == JOB_KEY);
        Self {
            rank: profile.rank,
            world_size: profile.world_size,
            job: job.map(|pair| pair.value.clone()),
        }
    }
}

/// The files that can be exported, in their order; the others are reported.
fn inputs(files: &[PathBuf]) -> Vec<Input> {
    let mut inputs = Vec::new();
    let read = |_, path: &Path| {
        let is_file = fs::metadata(path).map(|about| about.is_file());
        if is_file.unwrap_or(path.as_os_str() != "-") {
            read_single(path).map(|profile| FileKey::of(&profile))
        } else {
            let path = shown(path);
            Err(format!(
                "{path}: is no file, and cannot be read twice; save the profile in a file"
            ))
        }
    };
    let ControlFlow::Continue(()) = ordered_reads::for_each(files, read, |at, facts| {
        match (facts, files.get(at)) {
            (Ok(facts), Some(path)) => inputs.push(Input {
                path: path.clone(),
                number: inputs.len(),
                facts,
            }),
            (Err(problem), _) => complain(problem),
            (Ok(_), None) => {}
        }
        ControlFlow::<std::convert::Infallible>::Continue(())
    });
    inputs
}

/// The profile of one process.
fn read_single(path: &Path) -> Result<Profile, String> {
    let profile = read_profile(path).map_err(|error| error.to_string())?;
    match &profile.ranks {
        None => Ok(profile),
        Some(ranks) => Err(format!(
            "{}: is merged from {} profiles; export those instead, which have the times of each \
             rank",
            shown(path),
            ranks.profiles
        )),
    }
}

/// Says which ranks are missing, or there more than once.
fn report_ranks(inputs: &[Input]) {
    let mut ranks = JobRanks::default();
    for input in inputs {
        ranks.add(input.facts.rank.as_slice(), input.facts.world_size);
    }
    let mut notes = Vec::new();
    ranks.note(&mut notes);
    notes.iter().for_each(complain);
}

/// The job that all profiles name.
fn common_job(inputs: &[Input]) -> Result<String, String> {
    let jobs: BTreeSet<&str> = (inputs.iter())
        .map(|input| input.facts.job.as_deref().unwrap_or(UNNAMED))
        .collect();
    let mut jobs = jobs.into_iter();
    match (jobs.next(), jobs.next()) {
        (Some(first), Some(second)) => Err(format!(
            "the profiles are of several jobs, such as {} and {}; export each job, or name one \
             with --job NAME",
            shown(first.as_ref()),
            shown(second.as_ref())
        )),
        (job, _) => Ok(job.unwrap_or(UNNAMED).to_owned()),
    }
}

/// Writes the tables and returns how many profiles are in them.
fn write(
    inputs: &[Input],
    destination: &Destination<'_>,
    partition: &Partition,
) -> Result<usize, WriteError> {
    let folder = destination.folder;
    fs::create_dir_all(folder)?;
    // Beside the tables, because a folder cannot be moved to another file system; engines skip
    // hidden ones.
    let staging = tempfile::Builder::new()
        .prefix(".gpuprof-export-")
        .tempdir_in(folder)?;
    let staged = staging.path().join("new");
    fs::create_dir(&staged)?;
    let mut writers = Writers::create(&staged)?;
    let files: Vec<PathBuf> = inputs.iter().map(|input| input.path.clone()).collect();
    let mut written = 0;
    let read = |at: usize, _: &Path| inputs.get(at).map(batches);
    let end = ordered_reads::for_each(&files, read, |_, batches| {
        match batches {
            Some(Ok(batches)) => match writers.write(&batches) {
                Ok(()) => written += 1,
                Err(error) => return ControlFlow::Break(error),
            },
            Some(Err(problem)) => complain(problem),
            None => {}
        }
        ControlFlow::Continue(())
    });
    if let ControlFlow::Break(error) = end {
        return Err(error.into());
    }
    writers.close()?;
    if written == 0 {
        return Err(WriteError::Nothing);
    }
    let replaced = staging.path().join("old");
    let published = partition.publish(&staged, destination.replace.then_some(replaced.as_path()));
    if let Err(error) = published {
        if fs::read_dir(&replaced).is_ok_and(|mut left| left.next().is_some()) {
            let kept = staging.keep().join("old");
            complain(format_args!(
                "{}: has tables of the earlier export that could not be moved back",
                shown(&kept)
            ));
        }
        return Err(match error.kind() {
            std::io::ErrorKind::AlreadyExists => WriteError::Meanwhile,
            _ => error.into(),
        });
    }
    Ok(written)
}

/// The rows of a file in each table.
fn batches(input: &Input) -> Result<Vec<RecordBatch>, String> {
    let profile = read_single(&input.path)?;
    if FileKey::of(&profile) != input.facts {
        let path = shown(&input.path);
        return Err(format!("{path}: was changed while it was exported"));
    }
    let path = input.path.to_string_lossy();
    let process = Process {
        number: input.number,
        path: &path,
        profile: &profile,
    };
    let batches: Result<_, _> = TABLES.iter().map(|table| (table.batch)(process)).collect();
    batches.map_err(|error| format!("{}: cannot be exported: {error}", shown(&input.path)))
}

/// Why nothing was written.
#[derive(Debug)]
enum WriteError {
    Io(std::io::Error),
    Parquet(parquet::errors::ParquetError),
    Nothing,
    Meanwhile,
}

impl std::fmt::Display for WriteError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Io(error) => write!(f, "cannot be written: {error}"),
            Self::Parquet(error) => write!(f, "cannot be written: {error}"),
            Self::Nothing => f.write_str("no profile could be read again; nothing is written"),
            Self::Meanwhile => f.write_str(
                "another export of the job appeared meanwhile; nothing is written; --force \
                 replaces it",
            ),
        }
    }
}

impl std::error::Error for WriteError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            Self::Parquet(error) => Some(error),
            Self::Nothing | Self::Meanwhile => None,
        }
    }
}

impl From<std::io::Error> for WriteError {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<parquet::errors::ParquetError> for WriteError {
    fn from(error: parquet::errors::ParquetError) -> Self {
        Self::Parquet(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_changes_while_it_is_exported_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("0.json");
        fs::write(&path, r#"{"schema": "gpuprof.profile/1", "rank": 3}"#).unwrap();
        let mut input = Input {
            path: path.clone(),
            number: 0,
            facts: FileKey {
                rank: Some(3),
                world_size: None,
                job: None,
            },
        };
        assert_eq!(batches(&input).unwrap().len(), TABLES.len());
        input.facts.rank = Some(4);
        let problem = batches(&input).unwrap_err();
        let expected = format!("{}: was changed while it was exported", shown(&path));
        assert_eq!(problem, expected);
    }
}
