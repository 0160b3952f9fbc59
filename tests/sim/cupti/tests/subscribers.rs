//! Several subscribers, as the headers and the documentation of CUDA 13.3 describe them. No test is
//! an observation: no machine with its driver was had.

mod common;

use common::*;
use simcupti::{Profiler, Version};

const MULTIPLE_SUBSCRIBERS: u32 = 39;

/// A world whose client by the functions of the process has left.
fn world_of_subscribers() -> World {
    let world = world();
    world.cupti.set_version(Version::Cuda13_3);
    assert_eq!((world.api.unsubscribe)(world.subscriber), 0);
    world
}

fn subscribe() -> Profiler {
    Profiler::subscribe("test", true).unwrap()
}

/// Each receives the records and callbacks that it has asked for, and none of another.
#[test]
fn each_subscriber_has_its_own_records_and_callbacks() {
    let mut world = world_of_subscribers();
    let (kernels, sets) = (subscribe(), subscribe());
    kernels.enable(CONCURRENT_KERNEL).unwrap();
    sets.enable(MEMSET).unwrap();
    kernels.watch(LAUNCH).unwrap();
    for _ in 0..3 {
        world.launch(1_000);
    }
    world.stream.alloc_zeros::<u8>(8).unwrap();
    world.pass(10_000);
    // Returns the buffers of both.
    sets.flush().unwrap();
    let of = |profiler: &Profiler| [CONCURRENT_KERNEL, MEMSET].map(|kind| profiler.records(kind));
    assert_eq!((of(&kernels), of(&sets)), ([3, 0], [0, 1]));
    assert_eq!((kernels.callbacks(), sets.callbacks()), (3, 0));
    kernels.disable(CONCURRENT_KERNEL).unwrap();
    sets.enable(CONCURRENT_KERNEL).unwrap();
    world.launch(1_000);
    world.pass(10_000);
    sets.flush().unwrap();
    assert_eq!((of(&kernels), of(&sets)), ([3, 0], [1, 1]));
    kernels.unsubscribe().unwrap();
    sets.unsubscribe().unwrap();
}

/// Before anything is enabled, one of them decides for all.
#[test]
fn no_subscriber_has_records_of_graph_nodes_if_one_hides_them() {
    let mut world = world_of_subscribers();
    let (first, second) = (subscribe(), subscribe());
    first.hide_graph_nodes().unwrap();
    second.enable(CONCURRENT_KERNEL).unwrap();
    assert_eq!(first.hide_graph_nodes(), Err(7), "it is too late");
    world.begin_capture();
    world.launch(1_000);
    let graph = world.end_capture();
    graph.launch().unwrap();
    world.launch(1_000);
    world.pass(10_000);
    second.flush().unwrap();
    assert_eq!(second.records(CONCURRENT_KERNEL), 1);
    first.unsubscribe().unwrap();
    second.unsubscribe().unwrap();
}

/// The buffers that a subscriber did not have returned before it leaves.
#[test]
fn a_subscriber_that_leaves_gets_no_buffer() {
    let mut world = world_of_subscribers();
    let (first, second) = (subscribe(), subscribe());
    first.enable(CONCURRENT_KERNEL).unwrap();
    world.launch(1_000);
    world.pass(10_000);
    first.unsubscribe().unwrap();
    let third = subscribe();
    third.flush().unwrap();
    assert_eq!(third.records(CONCURRENT_KERNEL), 0);
    third.unsubscribe().unwrap();
    second.unsubscribe().unwrap();
}

/// Also once the subscriber has left.
#[test]
fn the_functions_of_the_process_are_refused_after_those_of_a_subscriber() {
    let world = world_of_subscribers();
    let refused = |world: &World| {
        let (mut now, mut dropped) = (0, 0);
        let codes = [
            world.api.subscribe(),
            (world.api.enable)(CONCURRENT_KERNEL),
            (world.api.timestamp)(&mut now),
            (world.api.dropped)(0, 0, &mut dropped),
        ];
        assert_eq!(codes, [MULTIPLE_SUBSCRIBERS; 4]);
    };
    let profiler = subscribe();
    refused(&world);
    profiler.unsubscribe().unwrap();
    refused(&world);
}

#[test]
fn a_subscriber_is_refused_beside_one_that_does_not_share() {
    let world = world();
    world.cupti.set_version(Version::Cuda13_3);
    let refused = |shares| Profiler::subscribe("test", shares).map(drop).unwrap_err();
    // `cuptiSubscribe`.
    assert_eq!([true, false].map(refused), [MULTIPLE_SUBSCRIBERS; 2]);
    assert_eq!((world.api.unsubscribe)(world.subscriber), 0);
    let alone = Profiler::subscribe("test", false).unwrap();
    assert_eq!([true, false].map(refused), [MULTIPLE_SUBSCRIBERS; 2]);
    alone.unsubscribe().unwrap();
    // The first decides.
    assert_eq!(refused(true), MULTIPLE_SUBSCRIBERS);
}

/// libcupti 13.0.85 returns 1 for the struct of CUDA 13.3, also without a driver.
#[test]
fn an_older_version_refuses_the_larger_struct() {
    let world = world();
    world.cupti.set_version(Version::Cuda13_0);
    assert_eq!((world.api.unsubscribe)(world.subscriber), 0);
    let refused = Profiler::subscribe("test", true).map(drop);
    assert_eq!(refused, Err(1));
}
