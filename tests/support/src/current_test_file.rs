//! The test file whose test or program this process runs.

use std::sync::OnceLock;

static FILE: OnceLock<&'static str> = OnceLock::new();

/// The `module_path!()` of the file.
pub fn file() -> Option<&'static str> {
    FILE.get().copied()
}

/// Sets the file. Later calls have no effect.
pub(crate) fn set_file(path: &'static str) {
    FILE.get_or_init(|| path);
}
