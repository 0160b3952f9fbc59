//! Placeholders in the paths of outputs.

use std::path::Path;

use gpuprof_report::sanitize;

/// Those that are filled in: process id, rank, and file name of the program.
pub(crate) const PLACEHOLDERS: [&str; 3] = ["{pid}", "{rank}", "{exe}"];

/// Characters of a path that a message shows.
const MAX_PATH: usize = 200;

/// A line for each placeholder of a path that is not filled in.
pub(super) fn unknown_placeholders(path: &Path) -> Vec<String> {
    // A path that is not UTF-8 is used as it is.
    let text = path.to_str().unwrap_or_default();
    let names = text.split('{').skip(1).filter_map(|rest| {
        let (name, _) = rest.split_once('}')?;
        let is_word = |c: char| c.is_alphanumeric() || "_-".contains(c);
        (!name.is_empty() && name.chars().all(is_word)).then(|| format!("{{{name}}}"))
    });
    let unknown = names.filter(|name| !PLACEHOLDERS.contains(&name.as_str()));
    let lines = unknown.map(|name| {
        let similarity = |known: &str| strsim::normalized_damerau_levenshtein(&name, known);
        let mut known = PLACEHOLDERS;
        known.sort_by(|a, b| similarity(b).total_cmp(&similarity(a)));
        format!(
            "unknown placeholder {} in {}, which is used as written; known are {}",
            sanitize::name(&name),
            sanitize::quoted(text, MAX_PATH),
            known.join(", ")
        )
    });
    lines.collect()
}
