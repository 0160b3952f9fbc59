//! A profile as one JSON document, `gpuprof.profile/1`; its schema is
//! `schema/profile-1.schema.json`.
//!
//! Writing needs no other crate, so that programs that are profiled do not build serde for one
//! document at exit. Reading is for tools: the feature `serde`.

mod fields;
#[cfg(feature = "serde")]
mod read_json;
#[cfg(test)]
mod schema;
mod writer;

use std::io::{self, Write};

use crate::profile::Profile;

#[cfg(feature = "serde")]
pub use read_json::{ReadError, from_str, read};

/// Writes the profile as indented JSON with a newline at the end. Names are written in full;
/// characters that a terminal would interpret are written as `\uXXXX`.
///
/// # Errors
/// Those of `out`.
pub fn write(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    let mut text = writer::document(profile);
    text.push('\n');
    out.write_all(text.as_bytes())
}
