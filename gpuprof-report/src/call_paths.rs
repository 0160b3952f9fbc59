//! The time of each call path: what folded stacks and pprof are made of.
//!
//! Call paths of more than 128 functions are cut: what is further inside is one leaf of the cut
//! path. Every sum is that of the profile.

use std::io;

use crate::profile::{CopyStats, KernelStats, NodeActivity, Profile, TreeNode};

/// Functions of a call path that are written.
const MAX_DEPTH: usize = 128;

/// The outermost frame of every stack of a simulated device.
pub(crate) const SIMULATED: &str = "simulated device";

/// What has the time at the end of a call path.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Leaf<'a> {
    /// The innermost function itself.
    Function,
    /// A kernel that it launched.
    Kernel(&'a KernelStats),
    /// Copies or memsets.
    Copies(&'a CopyStats),
    /// An activity whose index leads nowhere.
    Unknown,
    /// The functions of a path that is cut.
    Deeper,
    /// GPU work outside of any profiled function.
    Unattributed,
}

impl Leaf<'_> {
    /// The name of a leaf that has one of ours: `None` for functions, kernels and copies.
    pub(crate) fn fixed_name(self) -> Option<&'static str> {
        match self {
            Self::Unknown => Some("(unknown)"),
            Self::Deeper => Some("(deeper calls)"),
            Self::Unattributed => Some("(unattributed)"),
            Self::Function | Self::Kernel(_) | Self::Copies(_) => None,
        }
    }
}

/// Takes the functions of a call path, outermost first, and the times of its leaves, ns, of which
/// there is one at least and none is 0.
pub(crate) type Visit<'v, 'a> =
    dyn FnMut(&[&'a TreeNode], &[(Leaf<'a>, u64)]) -> io::Result<()> + 'v;

/// The call paths of a profile.
pub(crate) struct CallPaths<'a> {
    profile: &'a Profile,
    nodes: &'a [TreeNode],
    /// By position in `nodes`.
    places: Vec<NodePlace>,
}

/// Where a node is in the tree.
#[derive(Clone, Copy)]
struct NodePlace {
    /// Position of the caller.
    caller: Option<usize>,
    depth: usize,
    /// Position of the node whose path has this node's time: its own, or that of the caller at
    /// which the path is cut.
    kept: usize,
}

impl<'a> CallPaths<'a> {
    pub(crate) fn new(profile: &'a Profile) -> Self {
        let nodes = profile.tree.as_slice();
        let mut places: Vec<NodePlace> = Vec::with_capacity(nodes.len());
        for (own, caller) in profile.parents().into_iter().enumerate() {
            let above = caller.and_then(|caller| places.get(caller));
            let depth = above.map_or(1, |above| above.depth + 1);
            let kept = match above {
                Some(above) if depth > MAX_DEPTH => above.kept,
                _ => own,
            };
            places.push(NodePlace {
                caller,
                depth,
                kept,
            });
        }
        Self {
            profile,
            nodes,
            places,
        }
    }

    /// Whether the GPU times are modelled.
    pub(crate) fn is_simulated(&self) -> bool {
        let devices = &self.profile.devices;
        devices.iter().any(|device| device.simulated)
    }

    /// The GPU time of each path. With CUPTI's records it is that of kernels, copies and memsets,
    /// without them the self time of the GPU spans.
    ///
    /// # Errors
    /// Those of `visit`.
    pub(crate) fn gpu(&self, visit: &mut Visit<'_, 'a>) -> io::Result<()> {
        let profile = self.profile;
        let Some(cupti) = &profile.cupti else {
            let own = |node: &TreeNode| vec![(Leaf::Function, node.gpu_self_ns.unwrap_or(0))];
            return self.each(own, visit);
        };
        self.each(|node| self.activities(node), visit)?;
        let mut outside = Vec::new();
        if profile.functions.is_empty() && profile.tree.is_empty() {
            for kernel in &profile.kernels {
                outside.push((Leaf::Kernel(kernel), kernel.times.total_ns));
            }
            for copies in &profile.copies {
                outside.push((Leaf::Copies(copies), copies.times.total_ns));
            }
        } else {
            outside.push((Leaf::Unattributed, cupti.unattributed_ns));
        }
        visit_times(&[], outside, visit)
    }

    /// The CPU self time of each path.
    ///
    /// # Errors
    /// Those of `visit`.
    pub(crate) fn cpu(&self, visit: &mut Visit<'_, 'a>) -> io::Result<()> {
        self.each(|node| vec![(Leaf::Function, node.cpu_self_ns)], visit)
    }

    /// What the calls of a node launched themselves.
    fn activities(&self, node: &'a TreeNode) -> Vec<(Leaf<'a>, u64)> {
        let at = |index: Option<u32>| index.and_then(|index| usize::try_from(index).ok());
        let leaf = |activity: &NodeActivity| {
            let kernel = at(activity.kernel).and_then(|index| self.profile.kernels.get(index));
            let copies = at(activity.copies).and_then(|index| self.profile.copies.get(index));
            let leaf = match (kernel, copies) {
                (Some(kernel), _) => Leaf::Kernel(kernel),
                (None, Some(copies)) => Leaf::Copies(copies),
                (None, None) => Leaf::Unknown,
            };
            (leaf, activity.total_ns)
        };
        node.activities.iter().map(leaf).collect()
    }

    fn each(
        &self,
        times: impl Fn(&'a TreeNode) -> Vec<(Leaf<'a>, u64)>,
        visit: &mut Visit<'_, 'a>,
    ) -> io::Result<()> {
        let mut deeper = vec![0_u64; self.nodes.len()];
        for (node, place) in self.nodes.iter().zip(&self.places) {
            if place.depth > MAX_DEPTH
                && let Some(sum) = deeper.get_mut(place.kept)
            {
                let inside = times(node).into_iter().map(|(_, ns)| ns);
                *sum = inside.fold(*sum, u64::saturating_add);
            }
        }
        let of_nodes = self.nodes.iter().zip(&self.places).zip(deeper).enumerate();
        for (own, ((node, place), inside)) in of_nodes {
            if place.depth <= MAX_DEPTH {
                let mut leaves = times(node);
                leaves.push((Leaf::Deeper, inside));
                visit_times(&self.path(own), leaves, visit)?;
            }
        }
        Ok(())
    }

    /// The functions from the outermost one to this node.
    fn path(&self, own: usize) -> Vec<&'a TreeNode> {
        let mut path = Vec::new();
        let mut next = Some(own);
        while let Some(at) = next {
            path.extend(self.nodes.get(at));
            next = self.places.get(at).and_then(|place| place.caller);
        }
        path.reverse();
        path
    }
}

/// Without leaves that took no time.
fn visit_times<'a>(
    path: &[&'a TreeNode],
    mut leaves: Vec<(Leaf<'a>, u64)>,
    visit: &mut Visit<'_, 'a>,
) -> io::Result<()> {
    leaves.retain(|(_, ns)| *ns > 0);
    if leaves.is_empty() {
        return Ok(());
    }
    visit(path, &leaves)
}
