//! The call tree as folded stacks, for flame graphs: `inferno-flamegraph`, `flamegraph.pl`,
//! speedscope.
//!
//! Each line is a call path from the outermost function inwards, separated by semicolons, a space,
//! and a whole number of **nanoseconds**: `train;step;matmul 5694500`. The sum of all lines is the
//! time of the program.
//!
//! - [`write_gpu`] has the GPU time. With CUPTI's records it is that of the kernels, copies and
//!   memsets, which are the innermost frames, and `(unattributed)` is the work outside of any
//!   profiled function; of a program without functions the kernels and copies are the outermost
//!   frames. Without records it is the self time of the GPU spans, which includes idle time, and an
//!   estimate under sampling.
//! - [`write_cpu`] has the CPU self time.
//!
//! A function with a label is `name[label]`. Calls in progress have no time yet. Call paths of more
//! than 128 functions are cut: what is further inside is the frame `(deeper calls)`. On a simulated
//! device the outermost frame of every line is `simulated device`.
//!
//! Names are escaped as in every output. `;` becomes `,`. A space before a number at the end of a
//! name becomes `_`, because readers take the number for a weight; a name that begins with `#`,
//! which readers take for a comment, has a `_` before it.

use std::io::{self, Write};

use crate::call_paths::{CallPaths, Leaf, SIMULATED};
use crate::profile::{Profile, TreeNode, labelled};
use crate::sanitize;

const UNNAMED: &str = "(unnamed)";

/// Writes the GPU time of each call path, ns.
///
/// # Errors
/// Those of `out`.
pub fn write_gpu(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    let paths = CallPaths::new(profile);
    let is_simulated = paths.is_simulated();
    paths.gpu(&mut |path, leaves| write_lines(out, is_simulated, path, leaves))
}

/// Writes the CPU self time of each call path, ns.
///
/// # Errors
/// Those of `out`.
pub fn write_cpu(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    let paths = CallPaths::new(profile);
    let is_simulated = paths.is_simulated();
    paths.cpu(&mut |path, leaves| write_lines(out, is_simulated, path, leaves))
}

/// A line for each leaf of a path.
fn write_lines(
    out: &mut dyn Write,
    is_simulated: bool,
    path: &[&TreeNode],
    leaves: &[(Leaf, u64)],
) -> io::Result<()> {
    let mut frames = Vec::new();
    if is_simulated {
        frames.push(SIMULATED.to_owned());
    }
    frames.extend(path.iter().map(|node| node_frame(node)));
    let path = frames.join(";");
    for (leaf, ns) in leaves {
        match leaf_frame(*leaf) {
            Some(leaf) if path.is_empty() => writeln!(out, "{leaf} {ns}")?,
            Some(leaf) => writeln!(out, "{path};{leaf} {ns}")?,
            None => writeln!(out, "{path} {ns}")?,
        }
    }
    Ok(())
}

fn node_frame(node: &TreeNode) -> String {
    match &node.label {
        Some(label) => frame(&labelled(&node.name, label)),
        None => frame(&node.name),
    }
}

/// `None` for the innermost function of the path.
fn leaf_frame(leaf: Leaf) -> Option<String> {
    match leaf {
        Leaf::Kernel(kernel) => Some(frame(&kernel.name)),
        Leaf::Copies(copies) => Some(copies.kind.row_name()),
        _ => leaf.fixed_name().map(str::to_owned),
    }
}

/// A name that is one frame to every reader.
fn frame(text: &str) -> String {
    let name = sanitize::name(text).replace(';', ",");
    let name = name.trim();
    if name.is_empty() {
        return UNNAMED.to_owned();
    }
    let comment = if name.starts_with('#') { "_" } else { "" };
    let is_digit = |c: char| c.is_ascii_digit() || c == '.';
    match name.rsplit_once(' ') {
        Some((rest, number)) if number.chars().all(is_digit) => {
            format!("{comment}{rest}_{number}")
        }
        _ => format!("{comment}{name}"),
    }
}
