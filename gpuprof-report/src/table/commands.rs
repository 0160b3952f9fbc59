//! The command lines under a report: what to run where the profile ends.
//!
//! A line is never wrapped or cut: it is there to be copied.

use super::options::TableOptions;
use super::words::{BOLD, PLAIN, paint};
use crate::profile::Profile;
use crate::sanitize;

/// Characters of a line that are shown: the longest name that NVTX gets, a mangled kernel's name
/// and the options.
const LONGEST: usize = 6_000;

/// Writes what each command shows, and the command below it in a line of its own.
pub(super) fn write(profile: &Profile, options: &TableOptions, out: &mut String) {
    for command in &profile.commands {
        paint(out, options.color, BOLD, &sanitize::name(&command.what));
        out.push_str(":\n  ");
        let line = sanitize::short(&command.line, LONGEST);
        paint(out, options.color, PLAIN, &line);
        out.push('\n');
    }
}
