//! A profile as one HTML file that needs nothing else: how busy the GPU was, what to do first, the
//! tables, flame graphs, distributions of times, and diagnostics.
//!
//! The page is fixed markup, style and script (`assets/`); the profile is one JSON block, from
//! which the script draws. Names reach the page as text alone: the JSON has no character that HTML
//! would interpret, the script makes text nodes, and the content security policy allows no other
//! script and no network. Without scripts the page shows the report as text.

mod function_records;
mod json_text;
mod kernel_lines;
mod page_data;
mod peaks;
mod source;
mod source_texts;
mod steps;

pub use source_texts::SourceTexts;

use std::io::{self, Write};
use std::num::NonZeroUsize;

use crate::escape;
use crate::profile::Profile;
use crate::sanitize;
use crate::table::{self, TableOptions};

/// Markup with `{{name}}` where content is put.
const PAGE: &str = include_str!("assets/page.html");
const STYLE: &str = include_str!("assets/style.css");
/// In the order in which they use each other.
const SCRIPT: &str = concat!(
    include_str!("assets/data.js"),
    include_str!("assets/numbers.js"),
    include_str!("assets/elements.js"),
    include_str!("assets/summary.js"),
    include_str!("assets/table.js"),
    include_str!("assets/views.js"),
    include_str!("assets/peaks.js"),
    include_str!("assets/source.js"),
    include_str!("assets/flame.js"),
    include_str!("assets/histogram.js"),
    include_str!("assets/steps.js"),
    include_str!("assets/details.js"),
    include_str!("assets/main.js"),
);

/// The SHA-256 hashes by which the policy knows the page's own style and script, in Base64. A
/// browser ignores a style or script with another hash.
const STYLE_HASH: &str = "/RRusmVv9OUV0HaNv5Xz72oiTvbiaihaS/ctMTmiTNE=";
const SCRIPT_HASH: &str = "AzBALWnjkQkJkCsunoRXTQeZRfbcrV7i2Qj/MbTdxok=";

/// Rows of the call tree that a reader without scripts gets.
const TEXT_ROWS: usize = 60;

/// Writes the profile as a page of its own: UTF-8, complete in one file, under 1 MB for 1,000
/// functions. The same profile makes the same bytes.
///
/// # Errors
/// Those of `out`.
pub fn write(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    write_with_source(profile, &SourceTexts::default(), out)
}

/// Like [`write()`], and shows `texts` beside the samples of kernels: whoever gets the page can
/// read them.
///
/// # Errors
/// Those of `out`.
pub fn write_with_source(
    profile: &Profile,
    texts: &SourceTexts,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut rest = PAGE;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").unwrap_or((after, ""));
        out.write_all(before.as_bytes())?;
        match name {
            "policy" => write!(
                out,
                "default-src 'none'; style-src 'sha256-{STYLE_HASH}'; \
                 script-src 'sha256-{SCRIPT_HASH}'; base-uri 'none'; form-action 'none'"
            )?,
            "program" => out.write_all(program(profile).as_bytes())?,
            "title" => out.write_all(title(profile).as_bytes())?,
            "style" => out.write_all(STYLE.as_bytes())?,
            "data" => out.write_all(page_data::to_json(profile, texts).as_bytes())?,
            "text" => out.write_all(text(profile).as_bytes())?,
            _ => out.write_all(SCRIPT.as_bytes())?,
        }
        rest = after;
    }
    out.write_all(rest.as_bytes())
}

fn program(profile: &Profile) -> String {
    match profile.program.as_str() {
        "" => "unnamed program".to_owned(),
        name => escape::html(&sanitize::name(name)),
    }
}

fn title(profile: &Profile) -> String {
    let mut title = program(profile);
    if profile.devices.iter().any(|device| device.simulated) {
        title.push_str(" (simulated device)");
    }
    title
}

/// The report as text.
fn text(profile: &Profile) -> String {
    let options = TableOptions {
        limit: NonZeroUsize::new(TEXT_ROWS),
        ..TableOptions::default()
    };
    let mut text = Vec::new();
    // Writing to a Vec cannot fail.
    let _ = table::write(profile, &options, &mut text);
    escape::html(&String::from_utf8_lossy(&text))
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::prelude::BASE64_STANDARD;
    use sha2::{Digest, Sha256};

    use super::{SCRIPT, SCRIPT_HASH, STYLE, STYLE_HASH};

    #[test]
    fn the_policy_has_the_hashes_of_style_and_script() {
        let hash = |text: &str| BASE64_STANDARD.encode(Sha256::digest(text));
        assert_eq!(
            (hash(STYLE), hash(SCRIPT)),
            (STYLE_HASH.into(), SCRIPT_HASH.into())
        );
    }
}
