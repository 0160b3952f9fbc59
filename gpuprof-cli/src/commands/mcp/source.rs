//! What the tools look at, and the files that they compare it with.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use gpuprof_report::json;
use gpuprof_report::live::Request;
use gpuprof_report::profile::Profile;

use crate::input::{read_profile, shown};
use crate::input_files;
use crate::live;

/// A profile that may change from question to question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    File(PathBuf),
    Running(u32),
}

impl FromStr for Source {
    type Err = Infallible;

    /// A number is a process id, and anything else a file.
    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text.parse() {
            Ok(pid) => Self::Running(pid),
            Err(_) => Self::File(text.into()),
        })
    }
}

impl Source {
    /// The profile as it is now.
    ///
    /// # Errors
    /// What is wrong and what to do, for the agent.
    pub(super) fn profile(&self) -> Result<Profile, String> {
        match self {
            Self::File(path) => saved(path),
            Self::Running(pid) => running(*pid),
        }
    }
}

fn saved(path: &Path) -> Result<Profile, String> {
    if !path.exists() {
        return Err(format!(
            "{}: no such file; run the program with GPUPROF_REPORT=json={} to make it",
            shown(path),
            shown(path)
        ));
    }
    regular(path)?;
    read_profile(path).map_err(|error| error.to_string())
}

fn running(pid: u32) -> Result<Profile, String> {
    let failed = |why: &dyn std::fmt::Display| format!("{pid}: {why}");
    let mut connection = live::connect(&pid.to_string())?;
    let mut text = Vec::new();
    connection
        .document(Request::Snapshot, &mut text)
        .map_err(|error| failed(&error))?;
    json::read(text.as_slice()).map_err(|error| failed(&error))
}

/// The profiles of files, folders and patterns that the agent names.
///
/// # Errors
/// What is wrong, without a word of what is in the file: the agent may have been talked into
/// naming one that is none of its business.
pub(super) fn runs(paths: &[String]) -> Result<Vec<Profile>, String> {
    let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
    let files = input_files::find(&paths, None)?;
    files.iter().map(|file| run(file)).collect()
}

fn run(file: &Path) -> Result<Profile, String> {
    regular(file)?;
    read_profile(file).map_err(|_| format!("{}: is no JSON profile of gpuprof", shown(file)))
}

/// Refuses pipes and devices, above all standard input, on which the agent speaks.
fn regular(path: &Path) -> Result<(), String> {
    match path.is_file() {
        true => Ok(()),
        false => Err(format!("{}: is no file that can be read", shown(path))),
    }
}
