//! The C program of the tests of `gpuprof run`, for what is tried outside of them.

use std::path::Path;
use std::process::Command;

use crate::workspace;

/// A program that knows nothing of gpuprof, and exits with [`STATUS`].
const SOURCE: &str = "tests/any-program/tests/any_program/program.c";
pub(crate) const STATUS: i32 = 7;

/// Compiles it to `path`.
///
/// # Errors
/// A text for the user: it does not compile.
pub(crate) fn compile(path: &Path) -> Result<(), String> {
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-pthread", "-o"]).arg(path);
    compiler.arg(workspace::root().join(SOURCE)).arg("-ldl");
    workspace::succeed(&mut compiler)
}
