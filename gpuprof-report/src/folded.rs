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

use std::collections::HashMap;
use std::io::{self, Write};

use crate::profile::{NodeActivity, Profile, TreeNode, labelled};
use crate::sanitize;

/// Functions of a call path that are written.
const MAX_DEPTH: usize = 128;

const DEEPER: &str = "(deeper calls)";
const UNATTRIBUTED: &str = "(unattributed)";
const UNNAMED: &str = "(unnamed)";
const SIMULATED: &str = "simulated device";

/// Writes the GPU time of each call path, ns.
///
/// # Errors
/// Those of `out`.
pub fn write_gpu(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    let stacks = FoldedStacks::new(profile);
    let Some(cupti) = &profile.cupti else {
        return stacks.write(out, |node| vec![(None, node.gpu_self_ns.unwrap_or(0))]);
    };
    stacks.write(out, |node| {
        let activities = node.activities.iter();
        let leaf = |activity: &NodeActivity| (Some(name(activity, profile)), activity.total_ns);
        activities.map(leaf).collect()
    })?;
    if profile.functions.is_empty() && profile.tree.is_empty() {
        for kernel in &profile.kernels {
            stacks.line(out, "", &frame(&kernel.name), kernel.times.total_ns)?;
        }
        for copies in &profile.copies {
            stacks.line(out, "", &copies.kind.row_name(), copies.times.total_ns)?;
        }
        return Ok(());
    }
    stacks.line(out, "", UNATTRIBUTED, cupti.unattributed_ns)
}

/// Writes the CPU self time of each call path, ns.
///
/// # Errors
/// Those of `out`.
pub fn write_cpu(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    FoldedStacks::new(profile).write(out, |node| vec![(None, node.cpu_self_ns)])
}

/// The call paths of a profile.
struct FoldedStacks<'a> {
    nodes: &'a [TreeNode],
    /// By position in `nodes`.
    places: Vec<NodePlace>,
    is_simulated: bool,
}

/// Where a node is in the tree.
#[derive(Clone, Copy)]
struct NodePlace {
    /// Position of the caller.
    caller: Option<usize>,
    depth: usize,
    /// Position of the node whose line has this node's time: its own, or that of the caller at
    /// which the path is cut.
    line: usize,
}

impl<'a> FoldedStacks<'a> {
    fn new(profile: &'a Profile) -> Self {
        let nodes = profile.tree.as_slice();
        let mut at = HashMap::new();
        let mut places: Vec<NodePlace> = Vec::with_capacity(nodes.len());
        for (own, node) in nodes.iter().enumerate() {
            // Parents come before their children; any other parent would be a loop.
            let caller: Option<usize> = node.parent.and_then(|id| at.get(&id).copied());
            at.insert(node.id, own);
            let above = caller.and_then(|caller| places.get(caller));
            let depth = above.map_or(1, |above| above.depth + 1);
            let line = match above {
                Some(above) if depth > MAX_DEPTH => above.line,
                _ => own,
            };
            places.push(NodePlace {
                caller,
                depth,
                line,
            });
        }
        Self {
            nodes,
            places,
            is_simulated: profile.devices.iter().any(|device| device.simulated),
        }
    }

    /// Writes a line for each weight above 0 of each node: that of the node itself, or of a leaf
    /// below it.
    fn write(
        &self,
        out: &mut dyn Write,
        weights: impl Fn(&TreeNode) -> Vec<(Option<String>, u64)>,
    ) -> io::Result<()> {
        let mut deeper = vec![0_u64; self.nodes.len()];
        for (node, place) in self.nodes.iter().zip(&self.places) {
            if place.depth > MAX_DEPTH
                && let Some(sum) = deeper.get_mut(place.line)
            {
                let inside = weights(node).into_iter().map(|(_, ns)| ns);
                *sum = inside.fold(*sum, u64::saturating_add);
            }
        }
        for (own, (node, place)) in self.nodes.iter().zip(&self.places).enumerate() {
            if place.depth > MAX_DEPTH {
                continue;
            }
            let path = self.path(own);
            for (leaf, ns) in weights(node) {
                match leaf {
                    Some(leaf) => self.line(out, &path, &leaf, ns)?,
                    None => self.line(out, "", &path, ns)?,
                }
            }
            let inside = deeper.get(own).copied().unwrap_or(0);
            self.line(out, &path, DEEPER, inside)?;
        }
        Ok(())
    }

    /// The frames from the outermost function to this node.
    fn path(&self, own: usize) -> String {
        let mut frames = Vec::new();
        let mut next = Some(own);
        while let Some(at) = next {
            frames.extend(self.nodes.get(at).map(node_frame));
            next = self.places.get(at).and_then(|place| place.caller);
        }
        frames.reverse();
        frames.join(";")
    }

    /// One line; nothing for a weight of 0.
    fn line(&self, out: &mut dyn Write, path: &str, leaf: &str, ns: u64) -> io::Result<()> {
        if ns == 0 {
            return Ok(());
        }
        let simulated = if self.is_simulated { SIMULATED } else { "" };
        let frames = [simulated, path, leaf];
        let frames = frames.into_iter().filter(|part| !part.is_empty());
        let stack = frames.collect::<Vec<_>>().join(";");
        writeln!(out, "{stack} {ns}")
    }
}

fn node_frame(node: &TreeNode) -> String {
    match &node.label {
        Some(label) => frame(&labelled(&node.name, label)),
        None => frame(&node.name),
    }
}

/// The kernel, or the copies, as a frame.
fn name(activity: &NodeActivity, profile: &Profile) -> String {
    let at = |index: Option<u32>| index.and_then(|index| usize::try_from(index).ok());
    let kernel = at(activity.kernel).and_then(|index| profile.kernels.get(index));
    let copies = at(activity.copies).and_then(|index| profile.copies.get(index));
    match (kernel, copies) {
        (Some(kernel), _) => frame(&kernel.name),
        (None, Some(copies)) => copies.kind.row_name(),
        (None, None) => "(unknown)".to_owned(),
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
