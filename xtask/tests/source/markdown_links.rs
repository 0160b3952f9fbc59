//! The links of Markdown files to other files and to headings.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// One line for each link to a file or a heading that does not exist.
pub(crate) fn dead(repository: &Path) -> Vec<String> {
    let mut problems = Vec::new();
    for file in markdown_files(repository) {
        let shown = file
            .strip_prefix(repository)
            .expect("a file of the repository");
        for target in targets(&read(&file)) {
            if !exists(&file, &target) {
                problems.push(format!("{}: {target}", shown.display()));
            }
        }
    }
    problems
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Every Markdown file below `folder` that is neither a build output nor of a package that a tool
/// has installed.
fn markdown_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}")) {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && !path.is_symlink() {
            if !["target", "node_modules"].contains(&&*name) && !name.starts_with('.') {
                files.extend(markdown_files(&path));
            }
        } else if path.extension().is_some_and(|extension| extension == "md") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// The lines outside of code blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// What the links of a page lead to within the repository.
fn targets(text: &str) -> Vec<String> {
    let prose: Vec<&str> = prose(text).collect();
    let prose = prose.join("\n");
    // Every other part of a paragraph lies between backticks: code, in which `](` is no link.
    let plain = |paragraph: &str| paragraph.split('`').step_by(2).collect::<String>();
    let plain: String = prose.split("\n\n").map(plain).collect();
    let links = plain.split("](").skip(1);
    let targets = links.filter_map(|rest| Some(rest.split_once(')')?.0.to_owned()));
    targets.filter(|target| !target.contains("://")).collect()
}

fn exists(file: &Path, target: &str) -> bool {
    let (path, anchor) = match target.split_once('#') {
        Some((path, anchor)) => (path, Some(anchor)),
        None => (target, None),
    };
    let linked = match path {
        "" => file.to_owned(),
        _ => file.parent().expect("a folder").join(path),
    };
    match anchor {
        Some(anchor) => linked.is_file() && anchors(&read(&linked)).contains(anchor),
        None => linked.exists(),
    }
}

/// The anchors that GitHub gives the headings of a page.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut seen = BTreeMap::<String, usize>::new();
    let mut anchors = BTreeSet::new();
    let headings = prose(text).filter(|line| line.starts_with('#'));
    for line in headings {
        let heading = line.trim_start_matches('#').trim();
        let kept = heading.to_lowercase();
        let kept = kept
            .chars()
            .filter(|c| c.is_alphanumeric() || "_- ".contains(*c));
        let anchor: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
        let times = seen.entry(anchor.clone()).or_default();
        anchors.insert(match *times {
            0 => anchor,
            number => format!("{anchor}-{number}"),
        });
        *times += 1;
    }
    anchors
}
