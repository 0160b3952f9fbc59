//! The captured calls that an executable graph contains, and the event pairs that their nodes
//! record.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::gpu::driver::handles::{Event, Graph, GraphExec, GraphNode};
use crate::gpu::driver::table::Driver;
use crate::gpu::graph::capture::{Captured, CapturedCall, Captures};
use crate::gpu::graph::event_pair::Lent;

/// One captured call in this graph.
#[derive(Debug)]
pub(in crate::gpu) struct CapturedCallNodes {
    pub(in crate::gpu) call: CapturedCall,
    pub(in crate::gpu) nodes: [GraphNode; 2],
    /// The pairs that the nodes record into: one, unless the driver once refused to change it.
    pub(in crate::gpu) standing: Vec<Arc<Lent>>,
    /// The driver refused: nobody knows what a replay records into.
    pub(in crate::gpu) refused: bool,
    /// What all calls of the capture are found by.
    pub(in crate::gpu) captured: Arc<Captured>,
}

/// The driver would not change what the nodes record.
#[derive(Clone, Copy, Debug)]
pub(in crate::gpu) struct Refused;

impl CapturedCallNodes {
    /// Whether parking it would change nothing.
    pub(in crate::gpu) fn is_settled(&self) -> bool {
        self.refused
            || matches!(&self.standing[..], [only] if Arc::ptr_eq(only, &self.call.parking))
    }

    /// Has the nodes record into `lent`.
    pub(in crate::gpu) fn stand(
        &mut self,
        driver: &Driver,
        exec: GraphExec,
        lent: &Arc<Lent>,
    ) -> Result<(), Refused> {
        if self.refused {
            return Err(Refused);
        }
        if matches!(&self.standing[..], [only] if Arc::ptr_eq(only, lent)) {
            return Ok(());
        }
        let [start, end] = self.nodes;
        let set = driver
            .set_event(exec, start, lent.pair.start)
            .and_then(|()| driver.set_event(exec, end, lent.pair.end));
        match set {
            Ok(()) => {
                self.standing = vec![Arc::clone(lent)];
                Ok(())
            }
            Err(_) => {
                self.standing.push(Arc::clone(lent));
                self.refuse();
                Err(Refused)
            }
        }
    }

    /// A replay from now on may record into any pair that stands; none of them changes any more,
    /// and nobody may read one, ever: the graph can be launched past this.
    pub(in crate::gpu) fn refuse(&mut self) {
        if self.refused {
            return;
        }
        self.refused = true;
        self.standing.iter().for_each(|standing| standing.spoil());
    }
}

/// The captured calls whose two events these nodes record.
pub(in crate::gpu) fn find(
    captures: &Captures,
    graph: Graph,
    nodes: &[(GraphNode, Event)],
) -> Vec<CapturedCallNodes> {
    // None for an event that two nodes record: one of them may be of a call that is not known any
    // more.
    let mut by_event: FxHashMap<Event, Option<GraphNode>> = FxHashMap::default();
    for &(node, event) in nodes {
        let known = by_event.entry(event);
        known.and_modify(|node| *node = None).or_insert(Some(node));
    }
    let node = |event| by_event.get(&event).copied().flatten();
    let found = nodes.iter().filter_map(|&(_, event)| {
        let start = node(event)?;
        let (captured, at) = captures.find(graph, event)?;
        let call = captured.call(at).filter(|call| call.ended.is_some())?;
        let end = node(call.parking.pair.end)?;
        Some((captured, at, call, [start, end]))
    });
    let mut found: Vec<_> = found.collect();
    found.sort_by_key(|(captured, at, ..)| (Arc::as_ptr(captured) as usize, *at));
    let key = |captured: &Arc<Captured>, at| (Arc::as_ptr(captured) as usize, at);
    let keys = found.iter().map(|(captured, at, ..)| key(captured, *at));
    let here: FxHashMap<_, _> = keys.zip(0_usize..).collect();
    let planned = found.into_iter().map(|(captured, _, mut call, nodes)| {
        // From the position in the capture to that among those found.
        let moved = |at: Option<usize>| here.get(&key(&captured, at?)).copied();
        (call.caller, call.enclosing) = (moved(call.caller), moved(call.enclosing));
        CapturedCallNodes {
            nodes,
            standing: vec![Arc::clone(&call.parking)],
            refused: false,
            call,
            captured,
        }
    });
    planned.collect()
}
