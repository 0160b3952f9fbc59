//! Graphs, what they are instantiated to, and the user objects that live as long as these (API
//! reference, Graph Management; programming guide, CUDA User Objects). A graph is the list of its
//! nodes in the order of their calls; a replay runs them one after another on the launching stream,
//! also where the capture had forked.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::abi::{Answer, Destructor, Handle};
use crate::capture::Node;
use crate::clock;
use crate::codes::Code;
use crate::state::{self, State};

/// A captured graph, or what it was instantiated to.
pub(crate) struct Graph {
    pub(crate) context: Handle,
    pub(crate) nodes: Vec<Node>,
    /// Its own, or that of the graph it was instantiated from: a number that nothing else has.
    id: u64,
    /// Handles of the first nodes, as many as were asked for.
    handles: Vec<Handle>,
    /// References that it holds, an object once for each.
    objects: Vec<Handle>,
    /// When the last launch ends, in ns of the simulator's clock.
    until: u64,
}

/// One node of a graph that somebody has a handle of.
pub(crate) struct NodeOf {
    graph: u64,
    index: usize,
    /// Where the graph was when the handle was made.
    at: Handle,
}

/// Something of the caller's that is taken down when nothing refers to it any more.
pub(crate) struct UserObject {
    references: usize,
    destructor: Destructor,
}

/// Objects released by something whose last launch may still be running, and until when it does.
static HELD: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static DESTROYING: Cell<bool> = const { Cell::new(false) };
}

/// Whether the calling thread is in a user object's destructor, where no driver function may be
/// called.
pub(crate) fn in_destructor() -> bool {
    DESTROYING.get()
}

/// Takes down what nothing refers to any more; a real driver does it on a thread of its own. Must
/// be called without the state lock.
pub(crate) fn relieve() {
    if HELD.load(Ordering::Acquire) == 0 || in_destructor() {
        return;
    }
    let dead = state::lock().expire(clock::now());
    DESTROYING.set(true);
    dead.into_iter().for_each(Destructor::run);
    DESTROYING.set(false);
}

impl Graph {
    /// An empty one.
    pub(crate) fn new(context: Handle, id: u64) -> Graph {
        Graph {
            context,
            nodes: Vec::new(),
            id,
            handles: Vec::new(),
            objects: Vec::new(),
            until: 0,
        }
    }
}

/// The operations of a launch: each event record is one, and whatever stands between two of them is
/// one. So an H200 took them (driver 580.159), up to ten kernels in a row.
fn parts(nodes: &[Node]) -> impl Iterator<Item = &[Node]> {
    let is_record = |node: &Node| matches!(node, Node::Stamp(_));
    nodes.chunk_by(move |one, next| !is_record(one) && !is_record(next))
}

impl State {
    /// Instantiates `graph`: its nodes as they are now, and another reference to each of its
    /// objects.
    pub(crate) fn instantiate(&mut self, graph: Handle) -> Answer<Handle> {
        self.whole(graph)?;
        let graph = self.graphs.get(graph)?;
        let executable = Graph {
            nodes: graph.nodes.clone(),
            objects: graph.objects.clone(),
            ..Graph::new(graph.context, graph.id)
        };
        executable
            .objects
            .iter()
            .try_for_each(|&object| self.retain(object, 1))?;
        Ok(self.executables.insert(executable))
    }

    /// Takes a graph away, its nodes and its references.
    pub(crate) fn remove_graph(&mut self, graph: Handle) -> Answer {
        let graph = self.graphs.remove(graph)?;
        for node in graph.handles {
            self.nodes.remove(node)?;
        }
        self.release_later(graph.objects, 0);
        Ok(())
    }

    /// Takes an executable graph away; its references go when its last launch is over.
    pub(crate) fn remove_executable(&mut self, executable: Handle) -> Answer {
        let executable = self.executables.remove(executable)?;
        self.release_later(executable.objects, executable.until);
        Ok(())
    }

    /// ILLEGAL_STATE for a graph that is still being captured: it can be asked and retain objects,
    /// and nothing else.
    pub(crate) fn whole(&self, graph: Handle) -> Answer {
        self.graphs.get(graph)?;
        let mut captures = self.captures.values();
        match captures.any(|capture| capture.graph == graph) {
            true => Err(Code::ILLEGAL_STATE),
            false => Ok(()),
        }
    }

    /// Replays on `stream`, after the executable's last launch. On a capturing stream it becomes
    /// one node.
    pub(crate) fn replay(&mut self, executable: Handle, stream: Handle) -> Answer {
        let graph = self.executables.get(executable)?;
        let (nodes, objects, until) = (graph.nodes.clone(), graph.objects.clone(), graph.until);
        let mut numbers = (graph.id << 32)..;
        if let Some(id) = self.capture_of(stream)? {
            let into = self.captures.get(&id).map(|capture| capture.graph);
            for object in objects {
                self.retain(object, 1)?;
                let graph = self.graphs.get_mut(into.ok_or(Code::ILLEGAL_STATE)?)?;
                graph.objects.push(object);
            }
            return self.issue(stream, Node::Child(nodes));
        }
        let target = self.streams.get_mut(stream)?;
        target.tail = target.tail.max(until);
        for part in parts(&nodes) {
            for (node, number) in part.iter().zip(numbers.by_ref()) {
                self.enqueue(stream, node.clone(), number)?;
            }
            self.takes_room(stream)?;
        }
        let tail = self.streams.get(stream)?.tail;
        self.executables.get_mut(executable)?.until = tail;
        Ok(())
    }

    /// How many operations a launch is.
    pub(crate) fn launch_operations(&self, executable: Handle) -> usize {
        let graph = self.executables.get(executable);
        graph.map_or(1, |graph| parts(&graph.nodes).count())
    }

    /// The handles of a graph's nodes.
    pub(crate) fn nodes_of(&mut self, handle: Handle) -> Answer<Vec<Handle>> {
        let graph = self.graphs.get(handle)?;
        let (id, known, all) = (graph.id, graph.handles.len(), graph.nodes.len());
        for index in known..all {
            let node = self.nodes.insert(NodeOf {
                graph: id,
                index,
                at: handle,
            });
            self.graphs.get_mut(handle)?.handles.push(node);
        }
        Ok(self.graphs.get(handle)?.handles.clone())
    }

    /// The node of a handle.
    pub(crate) fn node(&self, node: Handle) -> Answer<&Node> {
        let node = self.nodes.get(node)?;
        let graph = self.graphs.get(node.at)?;
        graph.nodes.get(node.index).ok_or(Code::INVALID_HANDLE)
    }

    /// Has an event-record node of an executable graph record `event` in later launches.
    /// INVALID_VALUE for a node of another graph or another kind, and an event of another context.
    pub(crate) fn set_event(&mut self, handle: Handle, node: Handle, event: Handle) -> Answer {
        let context = self.event(event)?.context;
        let node = self.nodes.get(node)?;
        let (graph, index) = (node.graph, node.index);
        let executable = self.executables.get(handle)?;
        let Some(Node::Stamp(former)) = executable.nodes.get(index) else {
            return Err(Code::INVALID_VALUE);
        };
        if executable.id != graph || self.events.get(*former)?.context != context {
            return Err(Code::INVALID_VALUE);
        }
        self.executables.get_mut(handle)?.nodes[index] = Node::Stamp(event);
        Ok(())
    }

    /// A new user object with `references` that are the caller's.
    pub(crate) fn create_object(&mut self, destructor: Destructor, references: u32) -> Handle {
        self.objects.insert(UserObject {
            references: references as usize,
            destructor,
        })
    }

    /// Gives `graph` a reference to `object`: the caller's own with `moved`, else a new one.
    pub(crate) fn give_object(
        &mut self,
        graph: Handle,
        object: Handle,
        count: u32,
        moved: bool,
    ) -> Answer {
        self.objects.get(object)?;
        let references = (0..count).map(|_| object);
        self.graphs.get_mut(graph)?.objects.extend(references);
        match moved {
            true => Ok(()),
            false => self.retain(object, count),
        }
    }

    fn retain(&mut self, object: Handle, count: u32) -> Answer {
        self.objects.get_mut(object)?.references += count as usize;
        Ok(())
    }

    /// Gives references back once the clock has passed `until`.
    pub(crate) fn release_later(&mut self, objects: Vec<Handle>, until: u64) {
        HELD.fetch_add(objects.len(), Ordering::AcqRel);
        self.held
            .extend(objects.into_iter().map(|object| (until, object)));
    }

    fn expire(&mut self, now: u64) -> Vec<Destructor> {
        let (over, held): (Vec<_>, Vec<_>) =
            self.held.drain(..).partition(|(until, _)| *until <= now);
        self.held = held;
        let mut dead = Vec::new();
        for (_, object) in over {
            HELD.fetch_sub(1, Ordering::AcqRel);
            let Ok(known) = self.objects.get_mut(object) else {
                continue;
            };
            known.references = known.references.saturating_sub(1);
            if known.references == 0 {
                let last = self.objects.remove(object);
                dead.extend(last.map(|object| object.destructor));
            }
        }
        dead
    }
}
