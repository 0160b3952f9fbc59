//! Graphs: event-record nodes, the events that they record, and user objects that graphs retain.

mod common;

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use common::{context_and_stream, elapsed, event, function, query, record, saxpy, virtual_clock};
use cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT;
use cudarc::driver::sys::CUstreamCaptureMode_enum as Mode;
use cudarc::driver::sys::{
    self, CUevent, CUgraph, CUgraphInstantiate_flags, CUgraphNode, CUresult,
};
use cudarc::driver::{CudaContext, CudaGraph, CudaStream};

const KERNEL_NS: u64 = 6_000;

fn external(event: CUevent, stream: &CudaStream) {
    // SAFETY: event and stream live; 1 is CU_EVENT_RECORD_EXTERNAL.
    unsafe { sys::cuEventRecordWithFlags(event, stream.cu_stream(), 1) }
        .result()
        .unwrap();
}

fn set(graph: &CudaGraph, node: CUgraphNode, event: CUevent) -> CUresult {
    // SAFETY: the simulator validates handles.
    unsafe { sys::cuGraphExecEventRecordNodeSetEvent(graph.cu_graph_exec(), node, event) }
}

/// The number of a capture, and the graph that it builds.
fn capturing(stream: &CudaStream) -> (u64, CUgraph) {
    let (mut status, mut id, mut graph) = (
        sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE,
        0,
        ptr::null_mut(),
    );
    let none = ptr::null_mut();
    // SAFETY: these are writable, and the others may be null.
    unsafe {
        info(
            stream.cu_stream(),
            &mut status,
            &mut id,
            &mut graph,
            none,
            none,
        )
    }
    .result()
    .unwrap();
    (id, graph)
}

/// cuStreamGetCaptureInfo_v2, which cudarc lacks for some versions of CUDA.
unsafe fn info(
    stream: sys::CUstream,
    status: *mut sys::CUstreamCaptureStatus,
    id: *mut u64,
    graph: *mut CUgraph,
    dependencies: *mut c_void,
    number: *mut c_void,
) -> CUresult {
    type Info = unsafe extern "C" fn(
        sys::CUstream,
        *mut sys::CUstreamCaptureStatus,
        *mut u64,
        *mut CUgraph,
        *mut c_void,
        *mut c_void,
    ) -> CUresult;
    // SAFETY: the library is loaded already.
    let library = unsafe { libloading::Library::new("libcuda.so") }.unwrap();
    // SAFETY: the type is that of the driver API's declaration.
    let found = unsafe { library.get::<Info>(b"cuStreamGetCaptureInfo_v2") }.unwrap();
    // SAFETY: passed on to the caller.
    unsafe { found(stream, status, id, graph, dependencies, number) }
}

/// A graph of one kernel between two external records, and the nodes of these. `inside` runs during
/// the capture.
fn timed(
    context: &Arc<CudaContext>,
    stream: &Arc<CudaStream>,
    pair: [CUevent; 2],
    inside: impl FnOnce(),
) -> (CudaGraph, [CUgraphNode; 2]) {
    let kernel = function(context, "saxpy");
    let (x, mut y) = (
        stream.alloc_zeros(8).unwrap(),
        stream.alloc_zeros(8).unwrap(),
    );
    stream
        .begin_capture(Mode::CU_STREAM_CAPTURE_MODE_GLOBAL)
        .unwrap();
    inside();
    external(pair[0], stream);
    saxpy(stream, &kernel, 1.0, &x, &mut y).unwrap();
    external(pair[1], stream);
    let graph = stream
        .end_capture(CUgraphInstantiate_flags(0))
        .unwrap()
        .unwrap();
    // The buffers are never freed, because launches use them.
    std::mem::forget((x, y));
    let mut number = 8;
    let mut nodes = [ptr::null_mut(); 8];
    // SAFETY: there is room for 8 nodes.
    unsafe { sys::cuGraphGetNodes(graph.cu_graph(), nodes.as_mut_ptr(), &mut number) }
        .result()
        .unwrap();
    assert_eq!(number, 3);
    (graph, [nodes[0], nodes[2]])
}

/// cuGraphExecEventRecordNodeSetEvent: only future launches of the executable graph are affected,
/// launches that are enqueued or run already are not.
#[test]
fn an_event_is_swapped_for_later_launches() {
    let (sim, _turn) = virtual_clock();
    sim.set_kernel_ns("saxpy", KERNEL_NS);
    let (context, stream) = context_and_stream();
    let [first, second] = [0, 1].map(|_| [0, 1].map(|_| event(CU_EVENT_DEFAULT)));
    let (graph, nodes) = timed(&context, &stream, first, || ());
    for (node, expected) in nodes.into_iter().zip(first) {
        let mut event = ptr::null_mut();
        // SAFETY: `event` is writable.
        unsafe { sys::cuGraphEventRecordNodeGetEvent(node, &mut event) }
            .result()
            .unwrap();
        assert_eq!(event, expected);
    }
    graph.launch().unwrap();
    for (node, event) in nodes.into_iter().zip(second) {
        assert_eq!(set(&graph, node, event), CUresult::CUDA_SUCCESS);
    }
    graph.launch().unwrap();
    sim.advance(KERNEL_NS);
    assert_eq!(elapsed(first[0], first[1]), Ok(0.006));
    assert_eq!(query(second[1]), Err(CUresult::CUDA_ERROR_NOT_READY));
    sim.advance(KERNEL_NS);
    assert_eq!(elapsed(second[0], second[1]), Ok(0.006));
    // The launch makes a completed event not ready.
    graph.launch().unwrap();
    assert_eq!(query(second[1]), Err(CUresult::CUDA_ERROR_NOT_READY));
}

/// As on an H100 with driver 580.159.04.
#[test]
fn a_graph_cannot_be_launched_into_a_capture() {
    let (_sim, _turn) = virtual_clock();
    let (_context, stream) = context_and_stream();
    let flags = CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
    let relaxed = Mode::CU_STREAM_CAPTURE_MODE_RELAXED;
    stream.begin_capture(relaxed).unwrap();
    external(event(CU_EVENT_DEFAULT), &stream);
    let graph = stream.end_capture(flags).unwrap().unwrap();
    stream.begin_capture(relaxed).unwrap();
    let refused = CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    assert_eq!(graph.launch().map_err(|error| error.0), Err(refused));
    assert!(stream.end_capture(flags).is_err());
    graph.launch().unwrap();
}

#[test]
fn a_node_belongs_to_its_graph() {
    let (_sim, _turn) = virtual_clock();
    let (context, stream) = context_and_stream();
    let pair = [0, 1].map(|_| event(CU_EVENT_DEFAULT));
    let (first, nodes) = timed(&context, &stream, pair, || ());
    let (other, _) = timed(&context, &stream, pair, || ());
    let invalid = CUresult::CUDA_ERROR_INVALID_VALUE;
    assert_eq!(set(&other, nodes[0], pair[0]), invalid);
    assert_eq!(set(&first, nodes[0], pair[0]), CUresult::CUDA_SUCCESS);
    drop(first);
    assert_eq!(
        set(&other, nodes[0], pair[0]),
        CUresult::CUDA_ERROR_INVALID_HANDLE
    );
}

static DESTROYED: AtomicU32 = AtomicU32::new(0);

extern "C" fn destroy(event: *mut c_void) {
    DESTROYED.fetch_add(1, Ordering::SeqCst);
    // A destructor may not call the driver.
    let answer = query(event.cast());
    assert_eq!(answer, Err(CUresult::CUDA_ERROR_NOT_PERMITTED));
}

/// Programming guide, CUDA User Objects: an executable graph copies the references of its graph,
/// and releases them when its launches have ended.
#[test]
fn an_object_exists_until_the_last_launch_of_its_graph_ends() {
    let (sim, _turn) = virtual_clock();
    sim.set_kernel_ns("saxpy", KERNEL_NS);
    let (context, stream) = context_and_stream();
    let pair = [0, 1].map(|_| event(CU_EVENT_DEFAULT));
    let mut seen = (0, ptr::null_mut());
    let (graph, _) = timed(&context, &stream, pair, || {
        seen = capturing(&stream);
        let mut object = ptr::null_mut();
        // SAFETY: `object` is writable, and the destructor takes what it is given; 1 is
        // CU_USER_OBJECT_NO_DESTRUCTOR_SYNC.
        unsafe { sys::cuUserObjectCreate(&mut object, pair[0].cast(), Some(destroy), 1, 1) }
            .result()
            .unwrap();
        // SAFETY: both live; 1 is CU_GRAPH_USER_OBJECT_MOVE.
        unsafe { sys::cuGraphRetainUserObject(seen.1, object, 1, 1) }
            .result()
            .unwrap();
    });
    assert_eq!(seen.1, graph.cu_graph());
    assert_ne!(seen.0, 0);
    graph.launch().unwrap();
    drop(graph);
    record(pair[0], &stream).unwrap();
    assert_eq!(DESTROYED.load(Ordering::SeqCst), 0);
    sim.advance(KERNEL_NS);
    record(pair[0], &stream).unwrap();
    assert_eq!(DESTROYED.load(Ordering::SeqCst), 1);
}
