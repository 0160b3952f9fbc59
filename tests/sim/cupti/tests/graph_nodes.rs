//! Callbacks about graph nodes, and the numbers of nodes in records, as on an H200 with driver
//! 580.159.04 and the libcupti of CUDA 13.0.

mod common;

use common::{CONCURRENT_KERNEL, MEMSET, RESOURCE, Record, World, kernels, world};
use cudarc::driver::{CudaGraph, result, sys};
use simcupti::Version;

const CREATED: u32 = 13;
const CLONED: u32 = 20;
const UPDATED: u32 = 22;
const SET_PARAMS: u32 = 23;

fn observed() -> World {
    let world = world();
    for cbid in [CREATED, CLONED, UPDATED, SET_PARAMS] {
        let enable = world.api.enable_callback;
        assert_eq!(enable(1, world.subscriber, RESOURCE, cbid), 0);
    }
    world.enable(&[CONCURRENT_KERNEL, MEMSET], &[]);
    world
}

/// A graph of a kernel and a memset to `value`.
/// One kernel with this factor, and one memset of this value.
fn capture_work(world: &mut World, factor: f32, value: u8) -> CudaGraph {
    world.begin_capture();
    let stream = world.stream.clone();
    let launched = world.gpu.try_scaled_launch_on(&stream, 1_000, factor);
    launched.unwrap();
    let (address, stream) = (world.address(), world.stream.cu_stream());
    // SAFETY: the allocation is large enough.
    unsafe { result::memset_d8_async(address, value, 8, stream) }.unwrap();
    world.end_capture()
}

fn capture(world: &mut World, value: u8) -> CudaGraph {
    capture_work(world, 2.0, value)
}

/// The number of a graph from that of one of its nodes.
fn graph_of(node: u64) -> u64 {
    node >> 32
}

fn copied(graph: u64, original: u64) -> [(u32, u64, Option<u64>); 4] {
    let [first, second] = [0, 1].map(|index| (graph << 32 | index, original << 32 | index));
    [
        (CREATED, first.0, None),
        (CLONED, first.0, Some(first.1)),
        (CREATED, second.0, None),
        (CLONED, second.0, Some(second.1)),
    ]
}

#[test]
fn a_capture_creates_nodes_and_an_instantiation_clones_each_of_them() {
    let mut world = observed();
    world.begin_capture();
    world.launch(1_000);
    let created = world.node_callbacks();
    let [(CREATED, node, None)] = created[..] else {
        panic!("{created:?}")
    };
    let graph = graph_of(node);
    assert_eq!(node, graph << 32);
    world.launch(1_000);
    assert_eq!(world.node_callbacks(), [(CREATED, node + 1, None)]);
    let executable = world.end_capture();
    let copies = world.node_callbacks();
    let copy = graph_of(copies[0].1);
    assert_ne!(copy, graph);
    assert_eq!(copies, copied(copy, graph));
    executable.launch().unwrap();
    assert_eq!(world.node_callbacks(), []);
    world.pass(10_000);
    let nodes: Vec<u64> = kernels(&world.flush(0))
        .iter()
        .map(|kernel| kernel.node)
        .collect();
    assert_eq!(nodes, [copy << 32, copy << 32 | 1]);
}

#[test]
fn a_clone_of_a_graph_clones_each_node() {
    let mut world = observed();
    let graph = capture(&mut world, 1);
    let original = graph_of(world.node_callbacks()[0].1);
    let mut clone = std::ptr::null_mut();
    // SAFETY: the graph lives, and `clone` is writable.
    unsafe { sys::cuGraphClone(&mut clone, graph.cu_graph()) }
        .result()
        .unwrap();
    let copies = world.node_callbacks();
    assert_eq!(copies, copied(graph_of(copies[0].1), original));
}

fn update(executable: &CudaGraph, graph: &CudaGraph) -> (sys::CUresult, i32) {
    // SAFETY: the type is a plain struct of an enumeration, for which 0 is a value, and pointers.
    let mut info: sys::CUgraphExecUpdateResultInfo = unsafe { std::mem::zeroed() };
    let (executable, graph) = (executable.cu_graph_exec(), graph.cu_graph());
    // SAFETY: both live, and `info` is writable.
    let code = unsafe { sys::cuGraphExecUpdate_v2(executable, graph, &mut info) };
    (code, info.result as i32)
}

#[test]
fn an_update_reports_the_kernels_whose_parameters_change() {
    let mut world = observed();
    let one = capture_work(&mut world, 2.0, 1);
    let executable = graph_of(world.node_callbacks().last().unwrap().1);
    let two = capture_work(&mut world, 3.0, 1);
    let source = graph_of(world.node_callbacks()[0].1);
    assert_eq!(update(&one, &two), (sys::CUresult::CUDA_SUCCESS, 0));
    let expected = [
        (UPDATED, source << 32, None),
        (SET_PARAMS, executable << 32, None),
    ];
    assert_eq!(world.node_callbacks(), expected);
    assert_eq!(update(&one, &two), (sys::CUresult::CUDA_SUCCESS, 0));
    assert_eq!(world.node_callbacks(), []);
}

#[test]
fn cuda_12_has_no_callbacks_about_updates() {
    let world = world();
    world.cupti.set_version(Version::Cuda12_0);
    let enable = |cbid| (world.api.enable_callback)(1, world.subscriber, RESOURCE, cbid);
    let results = [CREATED, CLONED, UPDATED, SET_PARAMS].map(enable);
    assert_eq!(results, [0, 0, 1, 1]);
}

#[test]
fn an_update_of_a_memset_is_not_reported() {
    let mut world = observed();
    let one = capture(&mut world, 1);
    let executable = graph_of(world.node_callbacks().last().unwrap().1);
    let two = capture(&mut world, 2);
    world.node_callbacks();
    assert_eq!(update(&one, &two), (sys::CUresult::CUDA_SUCCESS, 0));
    assert_eq!(world.node_callbacks(), []);
    one.launch().unwrap();
    world.pass(10_000);
    let buffers = world.flush(0);
    let sets: Vec<_> = buffers.iter().flatten().filter_map(memset).collect();
    assert_eq!(sets, [(executable << 32 | 1, 2)]);
}

/// The node and the value of a memset.
fn memset(record: &Record) -> Option<(u64, u32)> {
    match record {
        Record::Set(set) => Some((set.node, set.value)),
        _ => None,
    }
}

/// cuGraphExecUpdate: the graphs must have the same topology.
#[test]
fn an_update_by_another_topology_fails() {
    let mut world = observed();
    let graph = capture(&mut world, 1);
    world.begin_capture();
    world.launch(1_000);
    let shorter = world.end_capture();
    world.node_callbacks();
    let failure = sys::CUresult::CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    assert_eq!(update(&graph, &shorter), (failure, 2));
    assert_eq!(world.node_callbacks(), []);
}

/// The records of a child graph have numbers for which no callback came.
#[test]
fn the_nodes_of_a_child_graph_have_numbers_of_their_own_in_records() {
    let mut world = observed();
    let child = capture(&mut world, 1);
    let parent = capture(&mut world, 1);
    let (mut node, none) = (std::ptr::null_mut(), std::ptr::null());
    let (to, from) = (parent.cu_graph(), child.cu_graph());
    // SAFETY: both graphs live, and `node` is writable.
    let added = unsafe { sys::cuGraphAddChildGraphNode(&raw mut node, to, none, 0, from) };
    assert_eq!(added, sys::CUresult::CUDA_SUCCESS);
    let mut executable = std::ptr::null_mut();
    // SAFETY: as above.
    let made = unsafe { sys::cuGraphInstantiateWithFlags(&raw mut executable, to, 0) };
    assert_eq!(made, sys::CUresult::CUDA_SUCCESS);
    let told: Vec<u64> = world
        .node_callbacks()
        .iter()
        .map(|callback| callback.1)
        .collect();
    // SAFETY: both live.
    let launched = unsafe { sys::cuGraphLaunch(executable, world.stream.cu_stream()) };
    assert_eq!(launched, sys::CUresult::CUDA_SUCCESS);
    world.pass(10_000);
    let kernels = kernels(&world.flush(0));
    let first = kernels[0].node;
    let nodes: Vec<u64> = kernels.iter().map(|kernel| kernel.node - first).collect();
    // The memset is 1, the child node 2, and its memset 4.
    assert_eq!(nodes, [0, 3]);
    assert!(told.contains(&first) && !told.contains(&(first + 3)));
}

#[test]
fn a_node_has_a_number_inside_its_callback() {
    let world = observed();
    assert_eq!((world.api.graph_node_id)(0x10, &mut 0), 1);
}
