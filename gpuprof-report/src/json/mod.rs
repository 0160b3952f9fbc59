//! A profile as one JSON document, `gpuprof.profile/1`.
//!
//! Writing is code of our own: serde, serde_derive and serde_json take 4.7 of the 25 processor
//! seconds that a program with gpuprof would build, for one document at exit. Tests compare what
//! is written with what serde_json would write. Reading is the feature `serde`.

#[cfg(feature = "serde")]
mod impossible;
#[cfg(feature = "serde")]
mod read_json;
#[cfg(test)]
mod schema;
mod values;

use std::io::{self, Write};

use crate::json_writer;
use crate::profile::Profile;

#[cfg(feature = "trace")]
pub(crate) use crate::json_writer::push_string;

#[cfg(feature = "serde")]
pub use impossible::Impossible;
#[cfg(feature = "serde")]
pub use read_json::{ReadError, from_str, read};

/// Writes the profile as indented JSON with a newline at the end. Names are written in full;
/// characters that a terminal would interpret are written as `\uXXXX`.
///
/// # Errors
/// Those of `out`.
pub fn write(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(to_string(profile).as_bytes())
}

/// The text that [`write()`] writes.
#[must_use]
pub fn to_string(profile: &Profile) -> String {
    let mut text = json_writer::document(profile);
    text.push('\n');
    text
}
