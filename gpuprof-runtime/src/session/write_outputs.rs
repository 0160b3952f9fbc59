//! Writes a profile to the outputs of its settings: standard error and files.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::{process_facts, table_options};
use crate::os::{atomic_file, fd};
use crate::settings::{Output, Settings};
use gpuprof_report::profile::{Function, Profile};
use gpuprof_report::{json, sanitize, table};

/// Characters of a path that a message shows.
const MAX_PATH: usize = 200;

/// Whether a span ended or is open: if there is none, the process prints nothing.
pub(super) fn has_content(profile: &Profile) -> bool {
    let diagnostics = &profile.diagnostics;
    let is_open = |function: &Function| function.open_calls > 0;
    diagnostics.calls + diagnostics.dropped > 0 || profile.functions.iter().any(is_open)
}

/// Writes one output. If a file cannot be written, its content goes to standard error instead.
pub(super) fn write(output: &Output, settings: &Settings, profile: &Profile) {
    let mut text = Vec::new();
    // Writing into memory cannot fail.
    let _ = match output {
        Output::Table | Output::FullTable => {
            let mut options = table_options::for_standard_error(settings.sort, settings.limit);
            options.full = *output == Output::FullTable;
            table::write(profile, &options, &mut text)
        }
        Output::Json(path) => {
            text = json(profile);
            let path = fill_in(path);
            match atomic_file::write(&path, &text) {
                Ok(()) => return,
                Err(error) => writeln!(
                    text,
                    "gpuprof: cannot write {} ({error}): the report is above instead",
                    shown(&path)
                ),
            }
        }
        _ => return,
    };
    fd::stderr(&text);
}

/// The JSON document.
pub(super) fn json(profile: &Profile) -> Vec<u8> {
    json::to_string(profile).into_bytes()
}

/// The path with `{pid}`, `{rank}` (0 without one) and `{exe}` filled in.
pub(super) fn fill_in(path: &Path) -> PathBuf {
    // Placeholders are text: a path that is not UTF-8 is used as it is.
    let Some(path) = path.to_str() else {
        return path.to_owned();
    };
    path.replace("{pid}", &std::process::id().to_string())
        .replace("{rank}", &process_facts::rank().unwrap_or(0).to_string())
        .replace("{exe}", &process_facts::program())
        .into()
}

/// A path within a message.
pub(super) fn shown(path: &Path) -> String {
    sanitize::quoted(&path.to_string_lossy(), MAX_PATH)
}
