//! The nodes of the call tree for what replayed graphs ran: under the launching function a node
//! `captured`, and under that the functions that captured it, nested as in the capture.

use rustc_hash::FxHashMap;

use super::path_ids::ROOT;
use super::profile_inputs::{ProfileInputs, ReplayedPath};
use crate::site::labels::KeptLabel;
use gpuprof_report::profile::{CapturedRuns, TreeNode};

/// The name of the node between a launching function and the captured ones.
const CAPTURED: &str = "captured";

/// The nodes, to be added to those of the calls. `functions`: the index of each site's function.
pub(super) fn nodes(inputs: &ProfileInputs<'_>, functions: &FxHashMap<u32, u32>) -> Vec<TreeNode> {
    let mut ids: FxHashMap<(u32, u32, u32), u32> = FxHashMap::default();
    let mut nodes = Vec::new();
    let replayed = inputs.cupti.iter().flat_map(|cupti| &cupti.replayed);
    for replayed in replayed {
        let ReplayedPath {
            node: id,
            launch,
            depth,
            captured,
            ..
        } = *replayed;
        let mut node = TreeNode::default();
        node.id = id;
        let mut runs = CapturedRuns::default();
        (runs.replays, runs.busy_ns) = (replayed.replays, replayed.busy_ns);
        node.captured = Some(runs);
        node.busy_ns = Some(replayed.busy_ns);
        if depth == 0 {
            CAPTURED.clone_into(&mut node.name);
            node.parent = (launch != ROOT).then_some(launch);
        } else {
            let Some(path) = inputs.paths.get(captured as usize) else {
                continue;
            };
            let Some(site) = inputs.sites.get(path.site as usize) else {
                continue;
            };
            site.name().clone_into(&mut node.name);
            node.label = site.label_of(path.label).map(KeptLabel::to_string);
            node.function = functions.get(&path.site).copied();
            let enclosing = if depth == 1 { ROOT } else { path.parent };
            node.parent = ids.get(&(launch, depth - 1, enclosing)).copied();
        }
        ids.insert((launch, depth, captured), id);
        nodes.push(node);
    }
    nodes
}
