//! Graphs made from other graphs: nodes that a capture adds, clones, executable graphs and their
//! updates (API reference, Graph Management), and the changes of nodes that CUPTI reports for them.
//!
//! The order of the changes and the numbers of the nodes are those of an H200 (driver 580.159.04,
//! libcupti of CUDA 13.0): each copy of a graph has a number of its own; each of its nodes is
//! created and then cloned; an update reports only nodes whose parameters differ.

use simbase::activity::ResourceChange;

use crate::abi::Handle;
use crate::objects::{Graph, Operation};
use crate::result_codes::Answer;
use crate::state::State;

/// `CUgraphExecUpdateResultInfo`, without the nodes that prevented an update.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct UpdateResult {
    /// `CUgraphExecUpdateResult`: 0 is success.
    result: i32,
    error_node: Handle,
    error_from_node: Handle,
}

/// `CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED`.
const TOPOLOGY_CHANGED: i32 = 2;
/// `CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED`.
const NODE_TYPE_CHANGED: i32 = 3;

impl UpdateResult {
    fn failed(result: i32) -> UpdateResult {
        UpdateResult {
            result,
            ..UpdateResult::default()
        }
    }

    pub(crate) fn is_success(self) -> bool {
        self.result == 0
    }
}

impl State {
    /// Appends a node to a graph.
    pub(crate) fn add_node(&mut self, graph: Handle, operation: Operation) -> Answer {
        let graph = self.graphs.get_mut(graph)?;
        graph.nodes.push(operation);
        let node = number(graph.id, graph.nodes.len() - 1);
        self.add_resource_change(ResourceChange::Created { node });
        Ok(())
    }

    /// A child graph that is a copy of the nodes of `original_graph`.
    pub(crate) fn copy_as_child_graph(
        &mut self,
        original_graph: u64,
        nodes: &[Operation],
    ) -> Operation {
        let graph = self.new_id();
        let nodes = self.clone_nodes(original_graph, graph, nodes);
        Operation::ChildGraph { graph, nodes }
    }

    /// Copies the nodes of graph `original` to graph `copy`, and reports each copy.
    fn clone_nodes(&mut self, original: u64, copy: u64, nodes: &[Operation]) -> Vec<Operation> {
        let mut copies = Vec::new();
        for (index, node) in nodes.iter().enumerate() {
            copies.push(match node {
                Operation::ChildGraph { graph, nodes } => self.copy_as_child_graph(*graph, nodes),
                node => node.clone(),
            });
            let node = number(copy, index);
            self.add_resource_change(ResourceChange::Created { node });
            self.add_resource_change(ResourceChange::Cloned {
                node,
                original: number(original, index),
            });
        }
        copies
    }

    /// A copy of a complete graph, which retains its user objects again.
    fn copy_graph(&mut self, graph: Handle) -> Answer<Graph> {
        self.check_graph_is_complete(graph)?;
        let graph = self.graphs.get(graph)?;
        let (context, original, nodes) = (graph.context, graph.id, graph.nodes.clone());
        let user_objects = graph.user_objects.clone();
        let objects = user_objects.iter();
        objects
            .copied()
            .try_for_each(|object| self.retain(object, 1))?;
        let copy = self.new_id();
        Ok(Graph {
            nodes: self.clone_nodes(original, copy, &nodes),
            user_objects,
            ..Graph::new(context, copy)
        })
    }

    pub(crate) fn clone_graph(&mut self, original: Handle) -> Answer<Handle> {
        let copy = self.copy_graph(original)?;
        Ok(self.graphs.insert(copy))
    }

    /// Instantiates `graph` with its present nodes.
    pub(crate) fn instantiate(&mut self, graph: Handle) -> Answer<Handle> {
        let source = Some(self.graphs.get(graph)?.id);
        let executable = Graph {
            source,
            ..self.copy_graph(graph)?
        };
        Ok(self.executables.insert(executable))
    }

    /// Gives the nodes of an executable graph the parameters of `graph`, for later launches.
    pub(crate) fn update_executable(
        &mut self,
        executable: Handle,
        graph: Handle,
    ) -> Answer<UpdateResult> {
        self.check_graph_is_complete(graph)?;
        let source = self.graphs.get(graph)?;
        let (source, nodes) = (source.id, source.nodes.clone());
        let Graph { id, nodes: old, .. } = self.executables.get(executable)?;
        if old.len() != nodes.len() {
            return Ok(UpdateResult::failed(TOPOLOGY_CHANGED));
        }
        let mut pairs = old.iter().zip(&nodes);
        if pairs.any(|(old, new)| std::mem::discriminant(old) != std::mem::discriminant(new)) {
            return Ok(UpdateResult::failed(NODE_TYPE_CHANGED));
        }
        let id = *id;
        let is_changed: Vec<bool> = old
            .iter()
            .zip(&nodes)
            .map(|(old, new)| old != new)
            .collect();
        for (index, node) in nodes.into_iter().enumerate() {
            if !is_changed[index] {
                continue;
            }
            let is_kernel = matches!(node, Operation::Launch(_));
            self.executables.get_mut(executable)?.nodes[index] = node;
            // Nothing was reported for a memset whose value changed (H200, driver 580.159).
            if !is_kernel {
                continue;
            }
            self.add_resource_change(ResourceChange::Updated {
                source: number(source, index),
            });
            self.add_resource_change(ResourceChange::ParametersSet {
                node: number(id, index),
            });
        }
        Ok(UpdateResult::default())
    }
}

/// The number of a node in records and callbacks.
fn number(graph: u64, index: usize) -> u64 {
    graph << 32 | index as u64
}
