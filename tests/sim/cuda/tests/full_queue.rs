//! A stream queues 1,021 operations behind the running one; the next call waits until there is
//! room, as on an H200 (driver 580.159). OPEN.md has what a copy or a graph takes.

mod common;

use common::{context_and_stream, event, function, record, saxpy, virtual_clock};
use cudarc::driver::sys;
use cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT;
use cudarc::driver::sys::CUgraphInstantiate_flags;
use cudarc::driver::sys::CUstreamCaptureMode_enum as Mode;

/// `CU_EVENT_RECORD_EXTERNAL`.
const EXTERNAL: u32 = 1;
const BEHIND: u32 = 1_021;
/// The running operation, and those behind it.
const ROOM: usize = 1 + BEHIND as usize;
const KERNEL_NS: u64 = 1_000;

#[test]
fn a_launch_and_a_record_wait_for_room() {
    let (sim, _turn) = virtual_clock();
    sim.set_queue_depth(BEHIND);
    let (context, stream) = context_and_stream();
    let kernel = function(&context, "saxpy");
    let (x, mut y) = (
        stream.alloc_zeros(8).unwrap(),
        stream.alloc_zeros(8).unwrap(),
    );
    stream.synchronize().unwrap();
    sim.set_kernel_ns("saxpy", KERNEL_NS);
    let before = sim.now();
    for _ in 0..ROOM {
        saxpy(&stream, &kernel, 1.0, &x, &mut y).unwrap();
    }
    assert_eq!(sim.now(), before, "there was room");
    saxpy(&stream, &kernel, 1.0, &x, &mut y).unwrap();
    assert_eq!(sim.now(), before + KERNEL_NS, "a launch");
    record(event(CU_EVENT_DEFAULT), &stream).unwrap();
    assert_eq!(sim.now(), before + 2 * KERNEL_NS, "a record");
    stream.memset_zeros(&mut y).unwrap();
    assert_eq!(sim.now(), before + 3 * KERNEL_NS, "a memset");
    let beside = context.new_stream().unwrap();
    record(event(CU_EVENT_DEFAULT), &beside).unwrap();
    assert_eq!(
        sim.now(),
        before + 3 * KERNEL_NS,
        "another stream has a queue of its own"
    );
    stream.synchronize().unwrap();
    let after = before + (ROOM as u64 + 1) * KERNEL_NS;
    assert_eq!(sim.now(), after);

    sim.set_queue_depth(u32::MAX);
    for _ in 0..2 * ROOM {
        saxpy(&stream, &kernel, 1.0, &x, &mut y).unwrap();
    }
    assert_eq!(sim.now(), after, "a queue without limit");
    stream.synchronize().unwrap();
}

/// A captured launch takes no room. A launch of the graph takes the room of one operation, or with
/// event records, of one operation for each record and each sequence of kernels.
#[test]
fn a_graph_is_one_operation_except_for_event_records() {
    graph_takes("kkkkkkkkkkkkkkkkkkkk", 1);
    graph_takes("rr", 2);
    graph_takes("rkkkr", 3);
    graph_takes("rrkrkrkrr", 9);
}

/// Captures `nodes`, `k` a kernel and `r` an event record, and checks that a launch of the graph
/// takes `operations`.
fn graph_takes(nodes: &str, operations: usize) {
    const LAUNCHES: usize = 10;
    let (sim, _turn) = virtual_clock();
    sim.set_queue_depth(BEHIND);
    let (context, stream) = context_and_stream();
    let kernel = function(&context, "saxpy");
    let (x, mut y) = (
        stream.alloc_zeros(8).unwrap(),
        stream.alloc_zeros(8).unwrap(),
    );
    stream.synchronize().unwrap();
    sim.set_kernel_ns("saxpy", KERNEL_NS);
    let before = sim.now();
    for _ in 0..ROOM - LAUNCHES * operations {
        saxpy(&stream, &kernel, 1.0, &x, &mut y).unwrap();
    }
    stream
        .begin_capture(Mode::CU_STREAM_CAPTURE_MODE_RELAXED)
        .unwrap();
    for node in nodes.chars() {
        match node {
            'k' => saxpy(&stream, &kernel, 1.0, &x, &mut y).unwrap(),
            _ => {
                let event = event(CU_EVENT_DEFAULT);
                // SAFETY: both handles are live.
                let recorded =
                    unsafe { sys::cuEventRecordWithFlags(event, stream.cu_stream(), EXTERNAL) };
                assert_eq!(recorded, sys::CUresult::CUDA_SUCCESS);
            }
        }
    }
    let graph = stream
        .end_capture(CUgraphInstantiate_flags(0))
        .unwrap()
        .unwrap();
    for _ in 0..LAUNCHES {
        graph.launch().unwrap();
    }
    assert_eq!(sim.now(), before, "there was room");
    graph.launch().unwrap();
    let one_for_each = operations as u64 * KERNEL_NS;
    assert_eq!(sim.now(), before + one_for_each, "{nodes}");
    stream.synchronize().unwrap();
}
