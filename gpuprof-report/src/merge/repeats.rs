//! Profiles that are merged twice: copies of one file, or a checkpoint beside the final report.

use std::collections::HashSet;

use super::diagnostics::add_note;
use super::rows::MAX_ROWS;
use super::spread;
use crate::profile::Profile;

/// Repeated profiles that the note names.
const LISTED: usize = 8;

/// Finds profiles of the same process with the same start.
#[derive(Clone, Debug, Default)]
pub(super) struct Repeats {
    known: HashSet<MeasuredProcess>,
    repeated: u64,
    listed: Vec<String>,
}

/// A process and when measuring began there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct MeasuredProcess {
    host: String,
    pid: u32,
    started_at: String,
    /// Wall time, calls and CPU time of a merged profile, which is of no process.
    merged: Option<[u64; 3]>,
}

impl Repeats {
    /// Whether a profile of the same process with the same start was added before.
    pub(super) fn add(&mut self, profile: &Profile) -> bool {
        let merged = profile.ranks.as_ref();
        let is_known = !profile.started_at.is_empty() && (profile.pid != 0 || merged.is_some());
        if !is_known || self.known.len() >= MAX_ROWS {
            return false;
        }
        let is_new = self.known.insert(MeasuredProcess {
            host: profile.host.clone(),
            pid: profile.pid,
            started_at: profile.started_at.clone(),
            merged: merged.map(|_| {
                let functions = profile.functions.iter();
                let cpu_ns = functions.fold(0, |sum: u64, function| {
                    sum.saturating_add(function.cpu.total_ns)
                });
                [profile.wall_ns, profile.diagnostics.calls, cpu_ns]
            }),
        });
        if is_new {
            return false;
        }
        self.repeated += 1;
        let name = spread::name(profile);
        if self.listed.len() < LISTED && !self.listed.contains(&name) {
            self.listed.push(name);
        }
        true
    }

    /// Says in the notes which profiles count twice.
    pub(super) fn note(&self, notes: &mut Vec<String>) {
        if self.repeated == 0 {
            return;
        }
        let repeat = match self.repeated {
            1 => "1 merged profile repeats another one of the same process and start, and counts"
                .to_owned(),
            many => format!(
                "{many} merged profiles repeat others of the same process and start, and count"
            ),
        };
        add_note(
            notes,
            &format!("{repeat} twice: {}", self.listed.join(", ")),
        );
    }
}
