//! What the tools look at, and the files that they compare it with.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::slice;
use std::str::FromStr;

use gpuprof_report::json;
use gpuprof_report::live::Request;
use gpuprof_report::profile::Profile;

use crate::input::{read_profile, shown};
use crate::input_files;
use crate::live;

/// A profile that may change from question to question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ProfileSource {
    File(PathBuf),
    Running(u32),
}

impl FromStr for ProfileSource {
    type Err = Infallible;

    /// A number is a process id, and anything else a file.
    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text.parse() {
            Ok(pid) => Self::Running(pid),
            Err(_) => Self::File(text.into()),
        })
    }
}

impl ProfileSource {
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
/// That there is no profile, in the same words whatever is there: the agent may have been talked
/// into asking about files that are none of its business.
pub(super) fn runs(paths: &[String]) -> Result<Vec<Profile>, String> {
    let mut runs = Vec::new();
    for path in paths {
        let path = PathBuf::from(path);
        let found = files(&path).ok_or_else(|| format!("{}: no profile is there", shown(&path)));
        runs.extend(found?);
    }
    Ok(runs)
}

fn files(path: &PathBuf) -> Option<Vec<Profile>> {
    let files = input_files::find(slice::from_ref(path), None).ok()?;
    let read = |file: &PathBuf| {
        regular(file).ok()?;
        read_profile(file).ok()
    };
    files.iter().map(read).collect()
}

/// Refuses pipes and devices, above all standard input, on which the agent speaks.
fn regular(path: &Path) -> Result<(), String> {
    if path.is_file() {
        Ok(())
    } else {
        Err(format!("{}: is no file that can be read", shown(path)))
    }
}
