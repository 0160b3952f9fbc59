//! The profiles that a program wrote, and what to say if they lack what was asked for.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use gpuprof_report::profile::Profile;
use gpuprof_report::sanitize;

use crate::input::read_profile;
use crate::machine::injected_library::{FIX, NoInjection};

/// Characters of a profile's note that a message shows.
const MAX_NOTE: usize = 500;

/// The profiles of a program and of the processes that it started.
pub(crate) struct WrittenProfiles(Vec<Profile>);

/// What a program was asked for.
#[derive(Debug)]
pub(crate) struct Expected {
    /// CUPTI's.
    pub(crate) records: bool,
    /// It shows the notes of the profile.
    pub(crate) table: bool,
    /// Why only programs that are built with gpuprof write a profile, if it is so.
    pub(crate) no_injection: Option<NoInjection>,
}

impl WrittenProfiles {
    /// Reads the JSON profiles in a folder.
    pub(crate) fn read(folder: &Path) -> Self {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        // Others are being written, or were when their process was killed.
        let is_whole = |path: &PathBuf| path.extension().is_some_and(|end| end == "json");
        let profiles = paths
            .filter(is_whole)
            .filter_map(|path| read_profile(&path).ok());
        Self(profiles.collect())
    }

    /// Those of processes that ended without their exit handlers, as their last checkpoint has
    /// them.
    pub(crate) fn cut_off(&self) -> impl Iterator<Item = &Profile> {
        self.0.iter().filter(|profile| !profile.at_exit)
    }

    /// What to say: of a program that failed without a CUDA driver, which left no profile, or whose
    /// profiles have no records although they were asked for, and no table says why.
    pub(crate) fn remarks(
        &self,
        program: &str,
        status: ExitStatus,
        expected: &Expected,
        missing_driver: impl FnOnce() -> Option<String>,
    ) -> Vec<String> {
        let failed = status.code().filter(|code| *code != 0);
        let is_without_cuda = |profile: &Profile| profile.diagnostics.no_cuda;
        if let Some(code) = failed
            && self.0.iter().all(is_without_cuda)
            && let Some(missing) = missing_driver()
        {
            return vec![format!(
                "{program} exited with status {code}: {missing}; gpuprof doctor says what this \
                 machine lacks, and cargo xtask sim, in a clone of gpuprof, runs programs without \
                 a GPU"
            )];
        }
        if self.0.is_empty() {
            let exited = failed.map(|code| format!("exited with status {code} and "));
            return vec![match status.signal() {
                Some(signal) => format!(
                    "{program} was ended by signal {signal} before it wrote a profile, which it \
                     does from its first CUDA calls on; GPUPROF_SIGNALS=on writes it on SIGINT \
                     and SIGTERM too"
                ),
                None => {
                    let why = match &expected.no_injection {
                        None => {
                            "it used no CUDA, no function with #[gpu_profile] ran, it ended by \
                                 _exit within 0.2 s of its first CUDA call, or GPUPROF or \
                                 GPUPROF_CUPTI switches gpuprof off"
                                .to_owned()
                        }
                        Some(why) => {
                            let fix = match why {
                                NoInjection::Taken(_) | NoInjection::Tool(_) => String::new(),
                                _ => format!("; {FIX}, installs it"),
                            };
                            format!(
                                "it is not built with gpuprof, or no function with \
                                 #[gpu_profile] ran; other programs are not measured: {why}{fix}"
                            )
                        }
                    };
                    let exited = exited.unwrap_or_default();
                    format!("{program} {exited}wrote no profile: {why}")
                }
            }];
        }
        if !expected.records || self.0.iter().any(|profile| profile.cupti.is_some()) {
            return Vec::new();
        }
        let mut notes: Vec<String> = self
            .0
            .iter()
            .flat_map(|profile| &profile.diagnostics.notes)
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

    fn success() -> ExitStatus {
        ExitStatus::from_raw(0)
    }

    fn no_driver() -> Option<String> {
        Some("no driver".to_owned())
    }

    #[test]
    fn a_program_that_fails_without_a_driver_is_told_with_its_status() {
        let failed = ExitStatus::from_raw(101 << 8);
        let expected = Expected {
            records: true,
            table: true,
            no_injection: None,
        };
        let mut without_cuda = profile("a note");
        without_cuda.diagnostics.no_cuda = true;
        for profiles in [vec![], vec![without_cuda]] {
            let remarks = WrittenProfiles(profiles).remarks("train", failed, &expected, no_driver);
            let [remark] = &remarks[..] else {
                panic!("{remarks:?}");
            };
            let begin = "train exited with status 101: no driver; gpuprof doctor";
            assert!(remark.starts_with(begin), "{remark}");
        }
        let none = WrittenProfiles(Vec::new());
        let reason = "wrote no profile: it used no CUDA, no function";
        for (status, driver, begin) in [
            (
                failed,
                None,
                format!("train exited with status 101 and {reason}"),
            ),
            (success(), no_driver(), format!("train {reason}")),
        ] {
            let remarks = none.remarks("train", status, &expected, || driver);
            assert!(remarks[0].starts_with(&begin), "{remarks:?}");
        }
    }

    #[test]
    fn without_the_injected_library_the_way_to_get_it_is_said() {
        let expected = Expected {
            records: false,
            table: true,
            no_injection: Some(NoInjection::NotInstalled),
        };
        let remarks = WrittenProfiles(Vec::new()).remarks("train", success(), &expected, no_driver);
        assert_eq!(
            remarks,
            [
                "train wrote no profile: it is not built with gpuprof, or no function with \
                 #[gpu_profile] ran; other programs are not measured: libgpuprof_inject.so is not \
                 installed with this command; cargo xtask install, in a clone of gpuprof, installs \
                 it"
            ]
        );
    }

    fn profile(note: &str) -> Profile {
        let mut profile = Profile::default();
        profile.diagnostics.notes = vec!["another note".into(), note.into()];
        profile
    }

    #[test]
    fn a_missing_cupti_is_explained_once_by_the_profiles() {
        let note = "kernels are not recorded (GPUPROF_CUPTI): \x1b[31m";
        let expected = |records, table| Expected {
            records,
            table,
            no_injection: None,
        };
        let profiles = WrittenProfiles(vec![profile(note), profile(note)]);
        assert_eq!(
            profiles.remarks("train", success(), &expected(false, false), no_driver),
            Vec::<String>::new()
        );
        assert_eq!(
            profiles.remarks("train", success(), &expected(true, false), no_driver),
            ["kernels are not recorded (GPUPROF_CUPTI): \\u{1b}[31m"]
        );
        let with_table = profiles.remarks("train", success(), &expected(true, true), no_driver);
        assert_eq!(with_table, Vec::<String>::new());
        let silent = WrittenProfiles(vec![profile("a note")]);
        assert_eq!(
            silent.remarks("train", success(), &expected(true, false), no_driver),
            ["train recorded nothing through CUPTI; gpuprof doctor says what is missing"]
        );
        let mut recorded = profile(note);
        recorded.cupti = Some(Default::default());
        let profiles = WrittenProfiles(vec![profile(note), recorded]);
        assert_eq!(
            profiles.remarks("train", success(), &expected(true, false), no_driver),
            Vec::<String>::new()
        );
    }
}
