//! The profile as one JSON document, `gpuprof.profile/1`; its schema is `schema/profile-1.schema.json`.
//!
//! Must never import what measures.

use std::io::{self, Write};

use crate::profile::Profile;

/// Writes the profile as indented JSON, with a newline at the end.
///
/// # Errors
/// Those of `out`.
pub fn write(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    let mut text = serde_json::to_vec_pretty(profile)?;
    text.push(b'\n');
    out.write_all(&text)
}
