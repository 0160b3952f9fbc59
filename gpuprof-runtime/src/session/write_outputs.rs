//! Writes a profile to the outputs of its settings: standard error and files.

use std::io;
#[cfg(any(feature = "html", feature = "pprof", feature = "trace"))]
use std::io::Write;
use std::path::{Path, PathBuf};
#[cfg(feature = "trace")]
use std::time::Duration;

#[cfg(feature = "trace")]
use super::current_trace;
use super::{process_facts, table_options};
use crate::collector::collector;
use crate::os::{atomic_file, fd};
use crate::settings::{Output, PLACEHOLDERS, Settings};
use gpuprof_report::profile::{Function, Profile};
use gpuprof_report::{csv, folded, json, sanitize, table};

/// Characters of a path that a message shows.
const MAX_PATH: usize = 200;

/// Timeout for each lock that a time line needs.
#[cfg(feature = "trace")]
const TRACE_LOCK_LIMIT: Duration = Duration::from_secs(5);

/// Whether a span ended or is open, or CUPTI has recorded something: if nothing was measured, the
/// process prints nothing.
pub(super) fn has_content(profile: &Profile) -> bool {
    let diagnostics = &profile.diagnostics;
    let is_open = |function: &Function| function.open_calls > 0;
    diagnostics.calls + diagnostics.dropped > 0
        || profile.has_records()
        || profile.functions.iter().any(is_open)
}

/// Writes one output. If a file cannot be written, its text goes into a file of the folder for
/// temporary files, or the table to standard error in place of a document for another tool.
pub(super) fn write(output: &Output, settings: &Settings, profile: &Profile) {
    match output {
        Output::Table | Output::FullTable => {
            fd::stderr(&table(settings, profile, *output == Output::FullTable));
        }
        Output::Json(path) => write_text(path, "json", json(profile)),
        Output::Csv(path) => write_text(path, "csv", text(|out| csv::write(profile, out))),
        Output::Folded(path) => {
            write_text(path, "folded", text(|out| folded::write_gpu(profile, out)));
        }
        Output::FoldedCpu(path) => {
            write_text(path, "folded", text(|out| folded::write_cpu(profile, out)));
        }
        Output::Pprof(path) => write_pprof(path, settings, profile),
        Output::Html(path) => write_html(path, settings, profile),
        Output::Trace(path) => write_trace(path, settings, profile),
        _ => {}
    }
}

#[cfg(feature = "pprof")]
fn write_pprof(path: &Path, settings: &Settings, profile: &Profile) {
    use gpuprof_report::pprof;

    let write = |out: &mut dyn Write| pprof::write(profile, out);
    write_file(path, write, settings, profile);
}

#[cfg(not(feature = "pprof"))]
fn write_pprof(_: &Path, settings: &Settings, profile: &Profile) {
    let line = missing_feature(
        "pprof",
        "; the command `gpuprof show --format pprof` makes it of a JSON profile",
    );
    table_instead(&line, settings, profile);
}

#[cfg(feature = "html")]
fn write_html(path: &Path, settings: &Settings, profile: &Profile) {
    use gpuprof_report::html::{SourceTexts, write_with_source};

    let texts = SourceTexts::read(profile, None);
    let write = |out: &mut dyn Write| write_with_source(profile, &texts, out);
    write_file(path, write, settings, profile);
}

#[cfg(not(feature = "html"))]
fn write_html(_: &Path, settings: &Settings, profile: &Profile) {
    let line = missing_feature(
        "html",
        "; the command `gpuprof show --format html` makes it of a JSON profile",
    );
    table_instead(&line, settings, profile);
}

#[cfg(feature = "trace")]
fn write_trace(path: &Path, settings: &Settings, profile: &Profile) {
    use gpuprof_report::trace::{self, TraceFileFormat};

    let write = |out: &mut dyn Write| {
        let time_line = current_trace::current(TRACE_LOCK_LIMIT).ok_or_else(|| {
            io::Error::other("no time line was recorded, or its events are locked")
        })?;
        let format = TraceFileFormat::from_path(path).unwrap_or(TraceFileFormat::ChromeJson);
        trace::write(&time_line, format, out)
    };
    write_file(path, write, settings, profile);
}

#[cfg(not(feature = "trace"))]
fn write_trace(_: &Path, settings: &Settings, profile: &Profile) {
    table_instead(&missing_feature("trace", ""), settings, profile);
}

/// Writes a document that is not for a terminal.
#[cfg(any(feature = "html", feature = "pprof", feature = "trace"))]
fn write_file(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    settings: &Settings,
    profile: &Profile,
) {
    let path = fill_placeholders(path);
    if let Err(error) = atomic_file::write_with(&path, write) {
        let line = format!("cannot write {} ({error})", shown(&path));
        table_instead(&line, settings, profile);
    }
}

/// What `write` writes.
fn text(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> Vec<u8> {
    let mut text = Vec::new();
    // Writing into memory cannot fail.
    let _ = write(&mut text);
    text
}

fn table(settings: &Settings, profile: &Profile, full: bool) -> Vec<u8> {
    let mut options = table_options::for_standard_error(settings.sort, settings.limit);
    options.full = full;
    text(|out| table::write(profile, &options, out))
}

/// Writes a text into its file. If that fails, a line says why, and where the text is instead: in a
/// temporary file, or on standard error below the line.
fn write_text(path: &Path, extension: &str, text: Vec<u8>) {
    let path = fill_placeholders(path);
    let Err(error) = atomic_file::write(&path, &text) else {
        return;
    };
    let line = format!("cannot write {} ({error})", shown(&path));
    let diagnostics = &collector().diagnostics;
    match atomic_file::write_temporary(&text, extension) {
        Ok(other) => diagnostics.error(&format!("{line}: the report is in {}", shown(&other))),
        Err(other) => {
            diagnostics.error(&format!(
                "{line}, nor a temporary file ({other}): the report follows"
            ));
            fd::stderr(String::from_utf8_lossy(&text).as_bytes());
        }
    }
}

/// The line for an output that this build does not have.
#[cfg(not(all(feature = "html", feature = "pprof", feature = "trace")))]
fn missing_feature(feature: &str, otherwise: &str) -> String {
    format!(
        "{feature}=PATH needs the feature {feature} of the crate gpuprof: gpuprof = {{ \
         version = \"{}\", features = [\"{feature}\"] }}{otherwise}",
        concat!(
            env!("CARGO_PKG_VERSION_MAJOR"),
            ".",
            env!("CARGO_PKG_VERSION_MINOR")
        ),
    )
}

/// Says the line, and writes the table unless that is an output: the measurement must not be lost.
fn table_instead(line: &str, settings: &Settings, profile: &Profile) {
    let is_table = |output: &Output| matches!(output, Output::Table | Output::FullTable);
    if !settings.outputs.iter().any(is_table) {
        fd::stderr(&table(settings, profile, false));
    }
    collector().diagnostics.error(line);
}

/// The JSON document.
pub(super) fn json(profile: &Profile) -> Vec<u8> {
    json::to_string(profile).into_bytes()
}

/// The path with its [`PLACEHOLDERS`] filled in; the rank is 0 without one.
pub(super) fn fill_placeholders(path: &Path) -> PathBuf {
    // Placeholders are text: a path that is not UTF-8 is used as it is.
    let Some(path) = path.to_str() else {
        return path.to_owned();
    };
    let values = [
        std::process::id().to_string(),
        process_facts::rank().unwrap_or(0).to_string(),
        process_facts::program(),
    ];
    let filled = PLACEHOLDERS.iter().zip(values);
    filled
        .fold(path.to_owned(), |path, (name, value)| {
            path.replace(name, &value)
        })
        .into()
}

/// A path within a message.
pub(super) fn shown(path: &Path) -> String {
    sanitize::quoted(&path.to_string_lossy(), MAX_PATH)
}
