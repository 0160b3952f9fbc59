//! The plots of benchmark sweeps.

use std::fmt::Write;

use crate::profile::Profile;
use crate::{escape, plot, sanitize};

/// The section; empty without a sweep.
pub(super) fn section(profile: &Profile) -> String {
    let plots = plot::plots(profile);
    if plots.is_empty() {
        return String::new();
    }
    let mut section = String::from(
        "<section aria-labelledby=\"benchmarks-title\">\n\
         <h2 id=\"benchmarks-title\">Benchmarks</h2>\n",
    );
    for plot in plots {
        let name = escape::html(&sanitize::name(&plot.name));
        // Writing to a String cannot fail.
        let _ = writeln!(
            section,
            "<h3>{name}</h3>\n<div class=\"scroll\">\n{}</div>",
            plot.svg
        );
    }
    section.push_str("</section>\n");
    section
}
