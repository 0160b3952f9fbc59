//! The driver calls around graphs, one method each, over the table of [`Driver`].

use std::ffi::{c_int, c_uint};
use std::ptr;

use crate::gpu::driver::handles::{Event, Graph, GraphExec, GraphNode, Stream};
use crate::gpu::driver::table::{Driver, Failed};

/// `CU_EVENT_RECORD_EXTERNAL`: the record becomes a node of the graph, which every replay runs.
const RECORD_EXTERNAL: c_uint = 1;
/// `CU_STREAM_CAPTURE_STATUS_ACTIVE`.
const CAPTURE_ACTIVE: c_int = 1;
/// `CU_GRAPH_NODE_TYPE_EVENT_RECORD`.
const NODE_EVENT_RECORD: c_int = 7;

impl Driver {
    /// The capture that `stream` is part of: a number that no other capture of the process has, and the graph that it makes.
    /// `None` where there is none, or it is spoilt.
    pub(in crate::gpu) fn capture(&self, stream: Stream) -> Result<Option<(u64, Graph)>, Failed> {
        let (mut status, mut id, mut graph) = (0, 0, Graph::NULL);
        let none = ptr::null_mut();
        self.stream_get_capture_info(
            stream,
            &raw mut status,
            &raw mut id,
            &raw mut graph,
            none,
            none,
        )?;
        Ok((status == CAPTURE_ACTIVE && graph != Graph::NULL).then_some((id, graph)))
    }

    /// Records `event` into the graph that `stream` is being captured to; both are of the same live context.
    pub(in crate::gpu) fn record_into_graph(
        &self,
        event: Event,
        stream: Stream,
    ) -> Result<(), Failed> {
        self.event_record_flags(event, stream, RECORD_EXTERNAL)
    }

    /// The nodes of a graph that record an event, and these events. Nodes of graphs inside of it are not among them.
    pub(in crate::gpu) fn recording_nodes(
        &self,
        graph: Graph,
    ) -> Result<Vec<(GraphNode, Event)>, Failed> {
        let mut count = 0;
        self.graph_get_nodes(graph, ptr::null_mut(), &raw mut count)?;
        let mut nodes = vec![GraphNode::NULL; count];
        if count > 0 {
            self.graph_get_nodes(graph, nodes.as_mut_ptr(), &raw mut count)?;
            nodes.truncate(count);
        }
        let mut recording = Vec::new();
        for node in nodes {
            let (mut kind, mut event) = (0, Event::NULL);
            self.graph_node_get_type(node, &raw mut kind)?;
            if kind == NODE_EVENT_RECORD {
                self.graph_node_get_event(node, &raw mut event)?;
                recording.push((node, event));
            }
        }
        Ok(recording)
    }

    /// Has `node` of `exec` record `event` in launches from now on; those under way record what they did.
    pub(in crate::gpu) fn set_event(
        &self,
        exec: GraphExec,
        node: GraphNode,
        event: Event,
    ) -> Result<(), Failed> {
        self.graph_exec_set_event(exec, node, event)
    }
}
