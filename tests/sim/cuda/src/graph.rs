//! Graphs and executable graphs (API reference, Graph Management). A graph is the list of its nodes
//! in the order of the calls. A launch runs them one after another on its stream, even if the
//! capture had several streams. `graph_copies` makes and changes graphs from other graphs, and
//! `user_objects` has the objects that graphs retain.

use std::ops::RangeFrom;

use crate::abi::Handle;
use crate::objects::{NodeReference, Operation};
use crate::result_codes::{Answer, Code};
use crate::state::State;

/// The queue operations of a launch: each event record is one, and so are all nodes between two
/// records, as on an H200 (driver 580.159) with up to ten kernels in a row.
fn queue_operations(nodes: &[Operation]) -> impl Iterator<Item = &[Operation]> {
    let is_record = |node: &Operation| matches!(node, Operation::EventRecord(_));
    nodes.chunk_by(move |node, next| !is_record(node) && !is_record(next))
}

impl State {
    /// Removes a graph with its node handles and its references.
    pub(crate) fn remove_graph(&mut self, graph: Handle) -> Answer {
        let graph = self.graphs.remove(graph)?;
        for node in graph.node_handles {
            self.graph_nodes.remove(node)?;
        }
        self.release_later(graph.user_objects, 0);
        Ok(())
    }

    /// Removes an executable graph, and releases its references when its last launch has ended.
    pub(crate) fn remove_executable(&mut self, executable: Handle) -> Answer {
        let executable = self.executables.remove(executable)?;
        self.release_later(executable.user_objects, executable.last_launch_end);
        Ok(())
    }

    /// ILLEGAL_STATE for a graph that is being captured, which can only be queried and retain
    /// objects.
    pub(crate) fn check_graph_is_complete(&self, graph: Handle) -> Answer {
        self.graphs.get(graph)?;
        let mut captures = self.captures.values();
        if captures.any(|capture| capture.graph == graph) {
            Err(Code::ILLEGAL_STATE)
        } else {
            Ok(())
        }
    }

    /// Launches on `stream`, after the executable's last launch. A launch on a capturing stream
    /// fails and invalidates the capture, as on an H100 (driver 580.159.04).
    pub(crate) fn launch_graph(&mut self, executable: Handle, stream: Handle) -> Answer {
        self.check_stream_not_capturing(stream)?;
        let graph = self.executables.get(executable)?;
        let (id, nodes) = (graph.id, graph.nodes.clone());
        let last_launch_end = graph.last_launch_end;
        let target = self.streams.get_mut(stream)?;
        target.tail = target.tail.max(last_launch_end);
        let mut numbers = (id << 32)..;
        let mut child_numbers = (id << 32) + nodes.len() as u64..;
        for operation in queue_operations(&nodes) {
            for (node, number) in operation.iter().zip(numbers.by_ref()) {
                self.enqueue_node(stream, node.clone(), number, &mut child_numbers)?;
            }
            self.count_operation(stream)?;
        }
        let tail = self.streams.get(stream)?.tail;
        self.executables.get_mut(executable)?.last_launch_end = tail;
        Ok(())
    }

    /// Appends a copy of `child` to `graph`, and returns the node. It retains the child's objects.
    pub(crate) fn add_child_graph(&mut self, graph: Handle, child: Handle) -> Answer<Handle> {
        self.check_graph_is_complete(graph)?;
        self.check_graph_is_complete(child)?;
        let original = self.graphs.get(child)?;
        let (id, nodes) = (original.id, original.nodes.clone());
        for object in original.user_objects.clone() {
            self.retain(object, 1)?;
            self.graphs.get_mut(graph)?.user_objects.push(object);
        }
        let copy = self.copy_as_child_graph(id, &nodes);
        self.add_node(graph, copy)?;
        let node = self.create_node_handles(graph)?.pop();
        node.ok_or(Code::UNKNOWN)
    }

    /// Appends a node of a launched graph to `stream`. The nodes of child graphs are numbered after
    /// those of the graph itself, by `child_numbers`.
    fn enqueue_node(
        &mut self,
        stream: Handle,
        node: Operation,
        number: u64,
        child_numbers: &mut RangeFrom<u64>,
    ) -> Answer {
        let Operation::ChildGraph { nodes, .. } = node else {
            return self.enqueue(stream, node, number);
        };
        for child in nodes {
            let number = child_numbers.next().ok_or(Code::UNKNOWN)?;
            self.enqueue_node(stream, child, number, child_numbers)?;
        }
        Ok(())
    }

    /// The number of queue operations of a launch.
    pub(crate) fn launch_operations(&self, executable: Handle) -> usize {
        let graph = self.executables.get(executable);
        graph.map_or(1, |graph| queue_operations(&graph.nodes).count())
    }

    /// The handles of a graph's nodes.
    pub(crate) fn create_node_handles(&mut self, handle: Handle) -> Answer<Vec<Handle>> {
        let graph = self.graphs.get(handle)?;
        let (id, known, all) = (graph.id, graph.node_handles.len(), graph.nodes.len());
        for index in known..all {
            let node = self.graph_nodes.insert(NodeReference {
                graph_id: id,
                index,
                graph: handle,
            });
            self.graphs.get_mut(handle)?.node_handles.push(node);
        }
        Ok(self.graphs.get(handle)?.node_handles.clone())
    }

    /// The graph node of a handle.
    pub(crate) fn graph_node(&self, node: Handle) -> Answer<&Operation> {
        let node = self.graph_nodes.get(node)?;
        let graph = self.graphs.get(node.graph)?;
        graph.nodes.get(node.index).ok_or(Code::INVALID_HANDLE)
    }

    /// Sets the event that an event-record node of an executable graph records in later launches.
    /// INVALID_VALUE for a node of another graph or kind, and for an event of another context.
    pub(crate) fn set_node_event(&mut self, handle: Handle, node: Handle, event: Handle) -> Answer {
        let context = self.event(event)?.context;
        let node = self.graph_nodes.get(node)?;
        let (graph_id, index) = (node.graph_id, node.index);
        let executable = self.executables.get(handle)?;
        let Some(Operation::EventRecord(former)) = executable.nodes.get(index) else {
            return Err(Code::INVALID_VALUE);
        };
        if executable.source != Some(graph_id) || self.events.get(*former)?.context != context {
            return Err(Code::INVALID_VALUE);
        }
        self.executables.get_mut(handle)?.nodes[index] = Operation::EventRecord(event);
        Ok(())
    }
}
