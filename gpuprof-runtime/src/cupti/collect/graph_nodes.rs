//! Nodes of CUDA graphs, by CUPTI's callbacks when one is created, cloned or updated.
//!
//! The records of a replay carry the numbers of the executable graph's nodes. From these callbacks
//! the attribution learns which profiled call captured each of them. As on an H200 (driver
//! 580.159.04, libcupti of CUDA 13.0):
//!
//! - Capturing a kernel, copy or memset calls back inside that CUDA call, on its thread: *created*.
//! - Instantiating or cloning a graph calls back twice for each node: *created*, then *cloned*.
//! - `cuGraphExecUpdate` calls back twice for each node whose parameters change: *updated* with the
//!   node of the other graph, then *set params* with the node of the executable graph.
//! - The nodes of a child graph get other numbers in records than in callbacks.
//!
//! This code runs inside the program's CUDA calls: it takes no lock of its own, never panics, calls
//! nothing of CUDA, and of CUPTI only the look-up of a node's number.

use std::cell::Cell;
use std::ffi::c_void;

use super::api_callbacks;
use super::bindings::{GraphData, GraphNode, ResourceData, node_callback};
use super::bounded_queue::{BoundedQueue, CALLBACK_EVENTS};
use super::callback_events::CallbackEvent;
use super::lifecycle;
use super::record::{CapturedCall, NodeEvent};
use crate::stats::profiled_call;

type NodeQueue = BoundedQueue<CallbackEvent>;

thread_local! {
    /// The node whose parameters an executable graph is getting, and that graph's handle.
    static UPDATE: Cell<Option<(u64, usize)>> = const { Cell::new(None) };
    /// The latest call of this thread in which a graph node was created; 0 for none.
    static LATEST_CREATOR: Cell<u64> = const { Cell::new(0) };
}

/// Called for a graph node.
///
/// # Safety
/// `data` must be CUPTI's data of one of the callbacks [`node_callback::ALL`], or null.
pub(super) unsafe fn on_node_callback(cbid: u32, data: *const c_void) {
    // SAFETY: the data of these callbacks has this type and lives until this function returns.
    let Some(data) = (unsafe { data.cast::<ResourceData>().as_ref() }) else {
        return;
    };
    // SAFETY: as above, null or the description of a graph node.
    let Some(graph) = (unsafe { data.descriptor.cast::<GraphData>().as_ref() }) else {
        return;
    };
    let Some(node) = number(graph.node) else {
        // Before records begin there is none to lose.
        if lifecycle::is_running() {
            CALLBACK_EVENTS.count_dropped();
        }
        return;
    };
    // 0 is no node's number.
    let original = number(graph.original_node).unwrap_or(0);
    on_node(
        &CALLBACK_EVENTS,
        cbid,
        node,
        original,
        graph.executable as usize,
    );
}

fn on_node(queue: &NodeQueue, cbid: u32, node: u64, original: u64, executable: usize) {
    match cbid {
        node_callback::CREATED => create(queue, node),
        node_callback::CLONED => {
            let event = NodeEvent::Cloned { node, original };
            queue.push_correction(CallbackEvent::Node(event));
        }
        node_callback::UPDATED => {
            // Fails if the thread is ending; the update is then not seen.
            let _ = UPDATE.try_with(|update| update.set(Some((node, executable))));
        }
        node_callback::SET_PARAMS => {
            let update = UPDATE.try_with(Cell::take).ok().flatten();
            // Without an update, the program itself has set the parameters of one node.
            if let Some((source, updated)) = update
                && updated == executable
            {
                let event = NodeEvent::Updated { node, source };
                queue.push_correction(CallbackEvent::Node(event));
            }
        }
        _ => {}
    }
}

fn create(queue: &NodeQueue, node: u64) {
    let by = profiled_call::innermost();
    let _ = LATEST_CREATOR.try_with(|latest| latest.set(latest.get().max(by.id)));
    let stack = api_callbacks::innermost_stack();
    queue.push(CallbackEvent::Node(NodeEvent::Created { node, by, stack }));
}

/// Reports the end of a call, if graph nodes were created in it or in a nested call.
#[inline]
pub(crate) fn end_call(call: CapturedCall) {
    // The ids of calls that a thread begins ascend, so a nested call has a higher one than its
    // enclosing call, and an earlier call a lower one. A future may end on another thread than it
    // captured on: then its enclosing captured calls lack its replays.
    let has_created = |latest: &Cell<u64>| latest.get() >= call.position.id;
    if LATEST_CREATOR.try_with(has_created).unwrap_or(false) {
        CALLBACK_EVENTS.push_correction(CallbackEvent::Captured(call));
    }
}

/// The number of a node in records; `None` if CUPTI does not run, is shutting down, or fails.
fn number(node: GraphNode) -> Option<u64> {
    let library = lifecycle::callable_library().filter(|_| !node.is_null())?;
    let mut number = 0;
    let result = library.graph_node_id(node, &raw mut number);
    result.ok().map(|()| number)
}

#[cfg(test)]
mod tests {
    use super::{CallbackEvent, NodeEvent, NodeQueue, node_callback, on_node};
    use crate::cupti::collect::bounded_queue::CAPACITY;
    use crate::stats::profiled_call::CallPosition;

    fn events(queue: &NodeQueue) -> Vec<NodeEvent> {
        let mut events = Vec::new();
        queue.drain_some(usize::MAX, |event| match event {
            CallbackEvent::Node(event) => events.push(event),
            event => panic!("{event:?}"),
        });
        events
    }

    #[test]
    fn an_update_is_two_callbacks_for_one_executable() {
        let queue = NodeQueue::new();
        let (updated, set) = (node_callback::UPDATED, node_callback::SET_PARAMS);
        on_node(&queue, set, 1, 0, 7);
        on_node(&queue, updated, 2, 0, 7);
        on_node(&queue, set, 3, 0, 7);
        on_node(&queue, set, 4, 0, 7);
        on_node(&queue, updated, 5, 0, 7);
        on_node(&queue, set, 6, 0, 8);
        assert_eq!(events(&queue), [NodeEvent::Updated { node: 3, source: 2 }]);
    }

    /// A copy without its correction would belong to the function that instantiated the graph.
    #[test]
    fn a_full_queue_drops_new_nodes_but_no_correction_and_counts_them() {
        let queue = NodeQueue::new();
        for node in 0..=CAPACITY as u64 {
            on_node(&queue, node_callback::CREATED, node, 0, 0);
        }
        let original = 1;
        on_node(&queue, node_callback::CLONED, 0, original, 0);
        let events = events(&queue);
        let by = CallPosition::default();
        assert_eq!(events.len(), CAPACITY + 1);
        let created = NodeEvent::Created {
            node: 0,
            by,
            stack: None,
        };
        assert_eq!(events[0], created);
        assert_eq!(events[CAPACITY], NodeEvent::Cloned { node: 0, original });
        assert_eq!(queue.take_dropped(), 1);
    }
}
