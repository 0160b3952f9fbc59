//! Which profiled call captured each node of the program's CUDA graphs.
//!
//! Records arrive long after their launch, and a node may have been updated in the meantime. So the
//! owner of a node is asked for with the number of updates at the time of the launch.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::limits::{MAX_FORMER_OWNERS, MAX_NODES};
use crate::cupti::collect::record::NodeEvent;
use crate::cupti::collect::stack_table::StackId;
use crate::stats::profiled_call::CallPosition;

/// The profiled call that captured a node, and where it did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NodeOwner {
    // As in a `CallPosition`, but flat: there may be a million of them.
    id: u64,
    path: u32,
    pub(crate) stack: Option<StackId>,
}

impl NodeOwner {
    fn new(CallPosition { id, path }: CallPosition, stack: Option<StackId>) -> Self {
        Self { id, path, stack }
    }

    /// `None` outside any profiled call.
    pub(crate) fn call(self) -> Option<CallPosition> {
        let Self { id, path, .. } = self;
        (id != 0).then_some(CallPosition { id, path })
    }
}

/// A node's position: the number of its graph, and its index there.
fn position(node: u64) -> (u32, usize) {
    ((node >> 32) as u32, (node & u64::from(u32::MAX)) as usize)
}

#[derive(Debug, Default)]
pub(crate) struct NodeOwners {
    /// By the graph's number.
    graphs: FxHashMap<u32, GraphOwners>,
    /// The graphs by age; those launched since they were last here come again.
    by_age: VecDeque<u32>,
    /// Nodes of all graphs.
    nodes: usize,
    former: FormerOwners,
    /// Updates of nodes so far.
    updates: u64,
    /// Nodes forgotten since the last [`take_forgotten`](Self::take_forgotten).
    forgotten: u64,
}

/// The owner of each node of one graph, by index.
#[derive(Debug, Default)]
struct GraphOwners {
    owners: Vec<NodeOwner>,
    was_launched: bool,
}

impl NodeOwners {
    pub(crate) fn apply(&mut self, event: NodeEvent) {
        match event {
            NodeEvent::Created { node, by, stack } => self.set(node, NodeOwner::new(by, stack)),
            // Otherwise its owner is the call that instantiated the graph.
            NodeEvent::Cloned { node, original } => self.set(node, self.current(original)),
            NodeEvent::Updated { node, source } => {
                let (former, owner) = (self.current(node), self.current(source));
                self.updates += 1;
                if former != owner {
                    self.former.add(node, self.updates, former);
                    self.set(node, owner);
                }
            }
        }
    }

    /// Updates of nodes so far.
    pub(crate) fn updates(&self) -> u64 {
        self.updates
    }

    /// The call that captured what `node` ran in a launch after so many updates; `None` if that is
    /// unknown.
    pub(crate) fn owner(&mut self, node: u64, updates: u64) -> Option<NodeOwner> {
        let (graph, index) = position(node);
        let graph = self.graphs.get_mut(&graph)?;
        graph.was_launched = true;
        let current = graph.owners.get(index).copied()?;
        self.former.at(node, updates, current)
    }

    /// Nodes whose owner was forgotten since the last call.
    pub(crate) fn take_forgotten(&mut self) -> u64 {
        std::mem::take(&mut self.forgotten)
    }

    fn current(&self, node: u64) -> NodeOwner {
        let (graph, index) = position(node);
        let graph = self.graphs.get(&graph);
        let owner = graph.and_then(|graph| graph.owners.get(index));
        owner.copied().unwrap_or_default()
    }

    fn set(&mut self, node: u64, owner: NodeOwner) {
        let (number, index) = position(node);
        if index >= MAX_NODES {
            self.forgotten += 1;
            return;
        }
        let graph = self.graphs.entry(number).or_insert_with(|| {
            self.by_age.push_back(number);
            GraphOwners::default()
        });
        if let Some(known) = graph.owners.get_mut(index) {
            *known = owner;
            return;
        }
        self.nodes += index + 1 - graph.owners.len();
        graph.owners.resize(index, NodeOwner::default());
        graph.owners.push(owner);
        while self.nodes > MAX_NODES && self.forget_oldest() {}
    }

    /// Forgets the oldest graph that was not launched since it was last the oldest.
    fn forget_oldest(&mut self) -> bool {
        while let Some(number) = self.by_age.pop_front() {
            match self.graphs.get_mut(&number) {
                Some(graph) if graph.was_launched => {
                    graph.was_launched = false;
                    self.by_age.push_back(number);
                }
                Some(_) => {
                    let graph = self.graphs.remove(&number).unwrap_or_default();
                    self.nodes -= graph.owners.len();
                    self.forgotten += graph.owners.len() as u64;
                    return true;
                }
                None => {}
            }
        }
        false
    }
}

/// Owners before an update.
#[derive(Debug, Default)]
struct FormerOwners {
    /// By node: the number of the update that ended it, and the owner; in this order.
    by_node: FxHashMap<u64, VecDeque<(u64, NodeOwner)>>,
    /// The node of each, the oldest first.
    by_age: VecDeque<u64>,
    /// The latest update of which the former owner is forgotten.
    forgotten_until: u64,
}

impl FormerOwners {
    fn add(&mut self, node: u64, update: u64, owner: NodeOwner) {
        self.by_node
            .entry(node)
            .or_default()
            .push_back((update, owner));
        self.by_age.push_back(node);
        if self.by_age.len() > MAX_FORMER_OWNERS
            && let Some(oldest) = self.by_age.pop_front()
            && let Some(former) = self.by_node.get_mut(&oldest)
        {
            if let Some((update, _)) = former.pop_front() {
                self.forgotten_until = update;
            }
            if former.is_empty() {
                self.by_node.remove(&oldest);
            }
        }
    }

    /// The owner after so many updates, if it is `current` now; `None` if it is forgotten.
    fn at(&self, node: u64, updates: u64, current: NodeOwner) -> Option<NodeOwner> {
        if updates < self.forgotten_until {
            return None;
        }
        let Some(former) = self.by_node.get(&node) else {
            return Some(current);
        };
        let next = former.partition_point(|(update, _)| *update <= updates);
        let owner = former.get(next).map(|(_, owner)| *owner);
        owner.or(Some(current))
    }
}

#[cfg(test)]
mod tests {
    use super::{CallPosition, MAX_FORMER_OWNERS, MAX_NODES, NodeEvent, NodeOwners};

    fn call(id: u64) -> CallPosition {
        CallPosition {
            id,
            path: id as u32,
        }
    }

    fn create(owners: &mut NodeOwners, graph: u64, index: u64, by: u64) {
        owners.apply(NodeEvent::Created {
            node: graph << 32 | index,
            by: call(by),
            stack: None,
        });
    }

    fn id(owners: &mut NodeOwners, node: u64, updates: u64) -> Option<u64> {
        Some(owners.owner(node, updates)?.call()?.id)
    }

    #[test]
    fn a_copy_has_the_owner_of_its_original_or_none() {
        let mut owners = NodeOwners::default();
        create(&mut owners, 1, 0, 7);
        for (copy, original) in [(2 << 32, 1 << 32), (3 << 32, 9 << 32)] {
            create(&mut owners, copy >> 32, 0, 8);
            let node = copy;
            owners.apply(NodeEvent::Cloned { node, original });
        }
        let found = [1, 2, 3, 9].map(|graph| id(&mut owners, graph << 32, 0));
        assert_eq!(found, [Some(7), Some(7), None, None]);
        // An index without a node.
        assert_eq!(id(&mut owners, 1 << 32 | 5, 0), None);
    }

    #[test]
    fn a_launch_before_an_update_has_the_former_owner() {
        let mut owners = NodeOwners::default();
        create(&mut owners, 1, 0, 7);
        for source in 2..5 {
            create(&mut owners, source, 0, 10 * source);
            owners.apply(NodeEvent::Updated {
                node: 1 << 32,
                source: source << 32,
            });
        }
        assert_eq!(owners.updates(), 3);
        let found = [0, 1, 2, 3].map(|updates| id(&mut owners, 1 << 32, updates));
        assert_eq!(found, [7, 20, 30, 40].map(Some));
    }

    #[test]
    fn former_owners_are_bounded_and_then_unknown() {
        let mut owners = NodeOwners::default();
        create(&mut owners, 1, 0, 7);
        create(&mut owners, 2, 0, 8);
        create(&mut owners, 3, 0, 9);
        for update in 0..=MAX_FORMER_OWNERS as u64 {
            let source = (2 + update % 2) << 32;
            let node = 1 << 32;
            owners.apply(NodeEvent::Updated { node, source });
        }
        assert_eq!(id(&mut owners, 1 << 32, 0), None);
        assert_eq!(id(&mut owners, 1 << 32, 1), Some(8));
        let latest = owners.updates();
        assert_eq!(id(&mut owners, 1 << 32, latest), Some(8));
    }

    #[test]
    fn the_oldest_graphs_that_are_not_launched_are_forgotten_and_counted() {
        let mut owners = NodeOwners::default();
        let nodes = MAX_NODES as u64 / 4;
        for graph in 1..=6 {
            for index in 0..nodes {
                create(&mut owners, graph, index, 7);
            }
            // The first one is launched all the time.
            assert_eq!(id(&mut owners, 1 << 32, 0), Some(7));
        }
        let found = [1, 2, 3, 4].map(|graph| id(&mut owners, graph << 32, 0).is_some());
        assert_eq!(found, [true, false, false, true]);
        assert!(owners.nodes <= MAX_NODES);
        assert_eq!(owners.take_forgotten(), 2 * nodes);
        assert_eq!(owners.take_forgotten(), 0);
        // A number that no real graph reaches.
        create(&mut owners, 9, u64::from(u32::MAX), 7);
        assert_eq!(owners.take_forgotten(), 1);
    }
}
