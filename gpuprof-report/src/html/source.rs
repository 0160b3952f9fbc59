//! The source lines of kernels beside their samples, for the page.

use super::json_text::JsonText;
use super::kernel_lines::{KernelLines, MAX_KERNELS, NEAR, kernels_with_lines};
use super::source_texts::SourceTexts;
use crate::profile::Profile;
use crate::{sanitize, stall_reasons};

/// Reasons of a kernel that are shown.
const MAX_REASONS: usize = 6;

/// Adds the kernels with their lines, and the text near them; nothing if no line is known.
pub(super) fn write(profile: &Profile, texts: &SourceTexts, json: &mut JsonText) {
    let kernels = kernels_with_lines(profile);
    if kernels.is_empty() {
        return;
    }
    let omitted = kernels.len().saturating_sub(MAX_KERNELS);
    let kernels = kernels.get(..MAX_KERNELS).unwrap_or(&kernels);
    let mut files: Vec<&str> = Vec::new();
    json.key("source").object(|json| {
        json.key("near").integer(NEAR.into());
        json.key("omitted").integer(omitted as u64);
        json.key("kernels").array(|json| {
            for kernel in kernels {
                json.object(|json| record(profile, kernel, &mut files, json));
            }
        });
        json.key("files").array(|json| {
            for file in &files {
                json.object(|json| file_text(file, texts, json));
            }
        });
    });
}

/// The kernel's name and position, its samples and reasons, and of each line the position of its
/// file, number, samples, reason, and instructions of double precision.
fn record<'a>(
    profile: &Profile,
    kernel: &KernelLines<'a>,
    files: &mut Vec<&'a str>,
    json: &mut JsonText,
) {
    json.key("name").string(&sanitize::name(kernel.name));
    let mut all = profile.kernels.iter();
    let at = all.position(|known| known.name == kernel.name);
    json.key("kernel").integer_or_null(at.map(|at| at as u64));
    let samples = kernel.stalls.map_or(0, |stalls| stalls.samples);
    json.key("samples").integer(samples);
    json.key("reasons").array(|json| {
        let reasons = kernel.stalls.iter().flat_map(|stalls| &stalls.reasons);
        for reason in reasons.take(MAX_REASONS) {
            json.array(|json| {
                json.string(&stall_reasons::words(&reason.reason));
                json.integer(reason.samples);
            });
        }
    });
    json.key("lines").array(|json| {
        for line in &kernel.lines {
            let known = files.iter().position(|file| *file == line.file);
            let file = known.unwrap_or(files.len());
            if known.is_none() {
                files.push(line.file);
            }
            json.array(|json| {
                json.integer(file as u64);
                json.integer(line.line.into());
                json.integer(line.samples);
                json.string(&stall_reasons::words(line.reason));
                json.string(&sanitize::name(&line.double.join(", ")));
            });
        }
    });
}

/// A file's name without folders, and its lines by number.
fn file_text(file: &str, texts: &SourceTexts, json: &mut JsonText) {
    json.key("name").string(&sanitize::file(file));
    json.key("lines").object(|json| {
        for (number, text) in texts.of_file(file).into_iter().flatten() {
            json.key(&number.to_string()).string(text);
        }
    });
}
