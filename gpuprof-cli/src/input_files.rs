//! The files that arguments stand for: files, folders and patterns.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::input::shown;

/// The files of all arguments in their order; those of a folder or a pattern by name. `output`,
/// which an earlier run may have written, is none of those that a folder or pattern stands for.
///
/// # Errors
/// One line with the argument that stands for no file.
pub(crate) fn find(arguments: &[PathBuf], output: Option<&Path>) -> Result<Vec<PathBuf>, String> {
    let output = output.and_then(|path| path.canonicalize().ok());
    let is_output = |path: &PathBuf| output.is_some() && path.canonicalize().ok() == output;
    let mut files = Vec::new();
    for argument in arguments {
        let found = if argument.is_dir() {
            folder(argument).map_err(|error| {
                format!("{}: the folder cannot be read: {error}", shown(argument))
            })?
        } else if !argument.exists() && has_wildcard(argument) {
            pattern(argument)?
        } else {
            files.push(argument.clone());
            continue;
        };
        let before = files.len();
        files.extend(found.into_iter().filter(|path| !is_output(path)));
        if files.len() == before {
            return Err(format!("{}: no JSON profile is there", shown(argument)));
        }
    }
    Ok(files)
}

/// The `*.json` files of a folder, by name.
fn folder(path: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(path)?.map(|entry| entry.map(|entry| entry.path()));
    let mut files: Vec<PathBuf> = entries.collect::<io::Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|ending| ending == "json"));
    files.sort();
    Ok(files)
}

fn has_wildcard(path: &Path) -> bool {
    path.to_string_lossy().contains(['*', '?', '['])
}

fn pattern(path: &Path) -> Result<Vec<PathBuf>, String> {
    let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", shown(path));
    let paths = glob::glob(&path.to_string_lossy())
        .map_err(|error| wrong(&error))?
        .map(|path| path.map_err(|error| wrong(&error)));
    let files = paths.filter(|path| path.as_ref().map_or(true, |path| path.is_file()));
    files.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_and_patterns_stand_for_their_files_by_name_without_the_output() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["b.json", "a.json", "job.json", "notes.txt", "[1].json"] {
            fs::write(path(name), "").unwrap();
        }
        let names = |arguments: &[PathBuf]| -> Vec<String> {
            let found = find(arguments, Some(&path("job.json"))).unwrap();
            let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
            found.iter().map(name).collect()
        };
        assert_eq!(
            names(&[folder.path().into()]),
            ["[1].json", "a.json", "b.json"]
        );
        assert_eq!(
            names(&[path("?.json"), path("a.json")]),
            ["a.json", "b.json", "a.json"]
        );
        assert_eq!(
            names(&[path("[1].json")]),
            ["[1].json"],
            "a file of that name"
        );
        assert_eq!(
            names(&[path("missing.json")]),
            ["missing.json"],
            "reading names it"
        );
        let error = find(&[path("*.csv")], None).unwrap_err();
        assert!(
            error.ends_with("*.csv: no JSON profile is there"),
            "{error}"
        );
    }
}
