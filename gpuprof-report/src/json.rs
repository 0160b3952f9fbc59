//! The profile as one JSON document, `gpuprof.profile/1`; its schema is `schema/profile-1.schema.json`.
//!
//! Must never import what measures.

use std::io::{self, Write};

use crate::profile::Profile;
use crate::sanitize;

/// Writes the profile as indented JSON, with a newline at the end. Names stand in it whole, with what a terminal would
/// not just show as `\uXXXX`.
///
/// # Errors
/// Those of `out`.
pub fn write(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    let mut text = sanitize::escape_json(serde_json::to_string_pretty(profile)?);
    text.push('\n');
    out.write_all(text.as_bytes())
}
