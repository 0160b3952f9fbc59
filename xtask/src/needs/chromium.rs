//! Where Chromium is.

use std::env;
use std::path::PathBuf;

use crate::workspace;

/// What it is called; Debian's name first.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// The first that runs: Ubuntu's package is a program that only says how to install it.
pub(crate) fn chromium() -> Option<PathBuf> {
    let folders = env::var_os("PATH")?;
    let places = NAMES
        .iter()
        .flat_map(|name| env::split_paths(&folders).map(move |folder| folder.join(name)));
    let mut programs = places.filter(|place| place.is_file());
    programs.find(|program| {
        let arguments = ["--headless", "--no-sandbox", "--version"];
        workspace::runs(&program.to_string_lossy(), &arguments)
    })
}
