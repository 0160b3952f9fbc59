//! The profiles that a program wrote, and what to say if they lack what was asked for.

use std::fs;
use std::path::Path;

use gpuprof_report::profile::Profile;
use gpuprof_report::sanitize;

use crate::input::read_profile;

/// Characters of a profile's note that a message shows.
const MAX_NOTE: usize = 500;

/// The profiles of a program and of the processes that it started.
pub(crate) struct WrittenProfiles(Vec<Profile>);

/// What a program was asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected {
    /// CUPTI's.
    pub(crate) records: bool,
    /// It shows the notes of the profile.
    pub(crate) table: bool,
}

impl WrittenProfiles {
    /// Reads the JSON profiles in a folder.
    pub(crate) fn read(folder: &Path) -> Self {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let profiles = entries.filter_map(|entry| read_profile(&entry.path()).ok());
        Self(profiles.collect())
    }

    /// What to say: of a program that left no profile, or whose profiles have no records although
    /// CUPTI was asked for, unless the table says why.
    pub(crate) fn remarks(
        &self,
        program: &str,
        signal: Option<i32>,
        expected: Expected,
    ) -> Vec<String> {
        if self.0.is_empty() {
            return vec![match signal {
                Some(signal) => format!(
                    "{program} was ended by signal {signal} before it wrote a profile; \
                     GPUPROF_SIGNALS=on writes it on SIGINT and SIGTERM, and GPUPROF_CHECKPOINT=10 \
                     with --report json=PATH every 10 s"
                ),
                None => format!(
                    "{program} wrote no profile: it is not built with gpuprof and its feature \
                     enable, GPUPROF switches it off, or no function with #[gpu_profile] ran"
                ),
            }];
        }
        if !expected.records || self.0.iter().any(|profile| profile.cupti.is_some()) {
            return Vec::new();
        }
        let notes = self.0.iter().flat_map(|profile| &profile.diagnostics.notes);
        let mut notes: Vec<String> = notes
            .filter(|note| note.contains("CUPTI"))
            .map(|note| sanitize::short(note, MAX_NOTE).into_owned())
            .collect();
        notes.sort_unstable();
        notes.dedup();
        if expected.table && !notes.is_empty() {
            return Vec::new();
        }
        if notes.is_empty() {
            notes.push(format!(
                "{program} recorded nothing through CUPTI; gpuprof doctor says what is missing"
            ));
        }
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(note: &str) -> Profile {
        let mut profile = Profile::default();
        profile.diagnostics.notes = vec!["another note".into(), note.into()];
        profile
    }

    #[test]
    fn a_missing_cupti_is_explained_once_by_the_profiles() {
        let note = "kernels are not recorded (GPUPROF_CUPTI): \x1b[31m";
        let expected = |records, table| Expected { records, table };
        let profiles = WrittenProfiles(vec![profile(note), profile(note)]);
        assert_eq!(
            profiles.remarks("train", None, expected(false, false)),
            Vec::<String>::new()
        );
        assert_eq!(
            profiles.remarks("train", None, expected(true, false)),
            ["kernels are not recorded (GPUPROF_CUPTI): \\u{1b}[31m"]
        );
        let with_table = profiles.remarks("train", None, expected(true, true));
        assert_eq!(with_table, Vec::<String>::new());
        let silent = WrittenProfiles(vec![profile("a note")]);
        assert_eq!(
            silent.remarks("train", None, expected(true, false)),
            ["train recorded nothing through CUPTI; gpuprof doctor says what is missing"]
        );
        let mut recorded = profile(note);
        recorded.cupti = Some(Default::default());
        let profiles = WrittenProfiles(vec![profile(note), recorded]);
        assert_eq!(
            profiles.remarks("train", None, expected(true, false)),
            Vec::<String>::new()
        );
    }
}
