//! Subscribers, callbacks, kinds and graphs. Each test is a rule that was observed on an H200 with
//! libcupti of CUDA 13.0.

mod common;

use common::*;

/// With 39, until the first has unsubscribed.
#[test]
fn a_second_subscriber_is_refused() {
    let world = world();
    assert_eq!(world.api.subscribe(), 39);
    let mut subscriber = 0;
    world.cupti.reset();
    let null = std::ptr::null();
    assert_eq!((world.api.subscribe)(&mut subscriber, None, null), 0);
    assert_eq!((world.api.unsubscribe)(subscriber + 1), 1);
    assert_eq!((world.api.unsubscribe)(subscriber), 0);
    assert_eq!(world.api.subscribe(), 0);
}

#[test]
fn version_clock_and_names() {
    let world = world();
    let mut version = 0;
    assert_eq!((world.api.version)(&mut version), 0);
    assert_eq!(version, 130_001);
    let mut now = 0;
    assert_eq!((world.api.timestamp)(&mut now), 0);
    assert_eq!(now, world.sim.now());
    let name = |domain, cbid| Api::text(|text| (world.api.callback_name)(domain, cbid, text));
    assert_eq!(name(1, LAUNCH).as_deref(), Ok("cuLaunchKernel"));
    assert_eq!(name(1, 277).as_deref(), Ok("cuMemcpyHtoDAsync_v2"));
    assert_eq!(name(2, 211).as_deref(), Ok("cudaLaunchKernel_v7000"));
    assert_eq!(name(1, 1_000), Err(1));
    let result = |code| Api::text(|text| (world.api.result_string)(code, text));
    let refused = "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED";
    assert_eq!(result(39).as_deref(), Ok(refused));
    assert_eq!(result(48), Err(1));
}

/// Switching a function on or off while the kind DRIVER is disabled has no effect, now or later,
/// and is no error.
#[test]
fn a_function_chosen_without_its_kind_is_not_recorded() {
    let mut world = world();
    world.enable(&[CONCURRENT_KERNEL, EXTERNAL], &[]);
    assert_eq!((world.api.enable_driver_api)(LAUNCH, 1), 0);
    world.push(1);
    world.launch(1_000);
    world.pass(1_000);
    assert_eq!(
        letters(&world.flush(0)[0]),
        "K",
        "no external id without the call's record"
    );
    assert_eq!((world.api.enable_driver_api)(LAUNCH, 0), 0);
    world.enable(&[DRIVER], &[]);
    world.launch(1_000);
    world.pass(1_000);
    let launches = calls(&world.flush(0));
    assert!(launches.iter().any(|call| call.cbid == LAUNCH));
    assert_eq!(world.pop(), Ok(1));
}

/// Enabling a kind enables all its functions, also if some of them were switched off before.
#[test]
fn functions_are_chosen_after_their_kind() {
    let mut world = world();
    let event = world.stream.context().new_event(None).unwrap();
    let seen = |world: &mut World| {
        let stream = world.stream.clone();
        event.record(&stream).unwrap();
        world.launch(0);
        let ids = calls(&world.flush(0)).into_iter().map(|call| call.cbid);
        // cudarc gets and sets the current context around its own calls: 303 and 304.
        ids.filter(|cbid| ![303, 304].contains(cbid))
            .collect::<Vec<_>>()
    };
    world.enable(&[DRIVER], &[]);
    assert_eq!(seen(&mut world), [119, LAUNCH]);
    world.enable(&[], &[LAUNCH]);
    assert_eq!(seen(&mut world), [LAUNCH]);
    assert_eq!((world.api.disable)(DRIVER), 0);
    assert_eq!(seen(&mut world), [] as [u32; 0]);
    world.enable(&[DRIVER], &[]);
    assert_eq!(seen(&mut world), [119, LAUNCH]);
}

#[test]
fn a_launch_through_the_runtime_is_a_runtime_record_only() {
    let mut world = world();
    world.enable(&[CONCURRENT_KERNEL, EXTERNAL], &[LAUNCH]);
    world.cupti.launch_by_runtime(true);
    world.push(1);
    world.launch(1_000);
    world.pass(1_000);
    assert_eq!(letters(&world.flush(0)[0]), "K", "the kind RUNTIME is off");
    world.enable(&[RUNTIME], &[]);
    world.launch(1_000);
    world.pass(1_000);
    let buffers = world.flush(0);
    assert_eq!(letters(&buffers[0]), "EKA");
    let call = &calls(&buffers)[0];
    assert_eq!((call.kind, call.cbid), (RUNTIME, 211));
    assert_eq!(call.correlation, kernels(&buffers)[0].correlation);
    assert_eq!((world.api.enable_runtime_api)(211, 0), 0);
    world.launch(1_000);
    world.pass(1_000);
    assert_eq!(letters(&world.flush(0)[0]), "K", "it was switched off");
}

/// Also refused is KERNEL, which serializes kernels, together with CONCURRENT_KERNEL.
#[test]
fn unknown_kinds_are_refused() {
    let world = world();
    world.enable(&[CONCURRENT_KERNEL], &[]);
    assert_eq!((world.api.enable)(3), 14);
    assert_eq!((world.api.enable)(17), 21);
    assert_eq!((world.api.disable)(17), 21);
}

/// Each thread has its own stack.
#[test]
fn popping_an_empty_stack_fails() {
    let world = world();
    assert_eq!(world.pop(), Err(18));
    world.push(5);
    let elsewhere = std::thread::scope(|scope| {
        let api = world.api;
        let pop = move || (api.pop)(CUSTOM0, std::ptr::null_mut());
        scope.spawn(pop).join().unwrap()
    });
    assert_eq!(elsewhere, 18);
    assert_eq!(world.pop(), Ok(5));
    assert_eq!(world.pop(), Err(18));
    assert_eq!((world.api.push)(0, 1), 1);
    assert_eq!((world.api.pop)(6, std::ptr::null_mut()), 1);
}

/// A captured launch is a call without activity. A replay is one call, and one activity per node
/// with the call's correlation id, the graph's id and the node's id.
#[test]
fn a_replay_is_one_call_and_one_activity_per_node() {
    let mut world = world();
    world.enable(&[CONCURRENT_KERNEL, MEMSET, EXTERNAL], &[LAUNCH, 216, 514]);
    world.push(9);
    world.begin_capture();
    world.launch(1_000);
    let (address, stream) = (world.address(), world.stream.cu_stream());
    // SAFETY: the allocation is large enough.
    unsafe { cudarc::driver::result::memset_d8_async(address, 1, 8, stream) }.unwrap();
    world.launch(2_000);
    let graph = world.end_capture();
    assert_eq!(letters(&world.flush(0)[0]), "EAEAEA");
    world.sim.set_kernel_ns("saxpy", 1_500);
    for _ in 0..2 {
        let before = world.sim.now();
        graph.launch().unwrap();
        world.pass(3_000);
        let buffers = world.flush(0);
        assert_eq!(letters(&buffers[0]), "EKSKA");
        let one = buffers[0][0].correlation();
        assert!(buffers[0].iter().all(|record| record.correlation() == one));
        let kernels = kernels(&buffers);
        let times = |kernel: &Kernel| (kernel.start - before, kernel.end - before);
        assert_eq!(
            (times(&kernels[0]), times(&kernels[1])),
            ((0, 1_500), (1_500, 3_000))
        );
        let graph = kernels[0].graph;
        assert_ne!(graph, 0);
        let Record::Set(set) = &buffers[0][2] else {
            panic!("{buffers:?}");
        };
        let nodes = [kernels[0].node, set.node, kernels[1].node];
        assert_eq!(nodes, [0, 1, 2].map(|node| u64::from(graph) << 32 | node));
        assert_eq!(kernels[1].graph, graph);
        assert_eq!(calls(&buffers)[0].cbid, 514);
    }
    assert_eq!(world.pop(), Ok(9));
}

#[test]
fn recording_does_not_change_the_simulated_time() {
    let mut world = world();
    let lasts = |world: &mut World| {
        let before = world.sim.now();
        world.launch(1_000);
        world.launch(2_000);
        world.stream.synchronize().unwrap();
        world.sim.now() - before
    };
    assert_eq!(lasts(&mut world), 3_000);
    world.enable(
        &[
            MEMCPY,
            MEMSET,
            DRIVER,
            RUNTIME,
            CONCURRENT_KERNEL,
            SYNCHRONIZATION,
            EXTERNAL,
            MEMORY2,
        ],
        &[],
    );
    assert_eq!(lasts(&mut world), 3_000);
}

/// Only for enabled functions. The correlation id is that of the call's activities.
#[test]
fn the_subscriber_is_called_at_entry_and_exit() {
    let mut world = world();
    let enable = world.api.enable_callback;
    assert_eq!(enable(1, world.subscriber, 1, LAUNCH), 0);
    for (subscriber, domain, cbid) in [
        (world.subscriber + 1, 1, LAUNCH),
        (world.subscriber, 3, LAUNCH),
        (world.subscriber, 1, 100_000),
    ] {
        assert_eq!(enable(1, subscriber, domain, cbid), 1);
    }
    world.enable(&[CONCURRENT_KERNEL], &[]);
    world.sim.set_call_ns("cuLaunchKernel", 300);
    let began = world.sim.now();
    world.launch(1_000);
    world.pass(1_000);
    let callbacks = world.callbacks();
    let [enter, leave] = callbacks[..] else {
        panic!("{callbacks:?}")
    };
    let launch = |site, time, result| ReceivedCallback {
        site,
        domain: 1,
        cbid: LAUNCH,
        correlation: enter.correlation,
        time,
        result,
        third_parameter: None,
    };
    assert_eq!(enter, launch(0, began, None));
    assert_eq!(leave, launch(1, began + 300, Some(0)));
    let kernel = kernels(&world.flush(0))[0].correlation;
    assert_eq!(kernel, enter.correlation);
    assert_eq!(enable(0, world.subscriber, 1, LAUNCH), 0);
    world.launch(1_000);
    assert_eq!(world.callbacks(), []);
}

/// The size is at the offset that the parameter structs of `generated_cuda_meta.h` have it at. No
/// bytes are no record (H100, driver 580).
#[test]
fn the_subscriber_is_given_the_sizes_of_copies_and_memsets() {
    let world = world();
    world.enable(&[MEMCPY, MEMSET], &[]);
    let ids = [277, 281, 216, 279, 276, 249];
    for cbid in ids {
        let enabled = (world.api.enable_callback)(1, world.subscriber, 1, cbid);
        assert_eq!(enabled, 0);
    }
    let stream = &world.stream;
    let mut first = stream.alloc_zeros::<u8>(LEN).unwrap();
    let mut second = stream.alloc_zeros::<u8>(LEN).unwrap();
    stream.synchronize().unwrap();
    world.callbacks();
    world.flush(0);
    for (bytes, records) in [(0, ""), (LEN, "CCSCCS")] {
        let mut host = vec![1_u8; bytes];
        let address = world.address();
        stream.memcpy_htod(&host, &mut first).unwrap();
        stream
            .memcpy_dtod(&first.slice(..bytes), &mut second)
            .unwrap();
        stream.memset_zeros(&mut second.slice_mut(..bytes)).unwrap();
        stream
            .memcpy_dtoh(&first.slice(..bytes), &mut host)
            .unwrap();
        // SAFETY: the allocation is larger.
        unsafe { cudarc::driver::result::memcpy_htod_sync(address, &host) }.unwrap();
        // SAFETY: as above.
        unsafe { cudarc::driver::result::memset_d8_sync(address, 0, bytes) }.unwrap();
        stream.synchronize().unwrap();
        let calls = world.callbacks();
        let sizes: Vec<_> = calls
            .iter()
            .map(|call| (call.cbid, call.third_parameter))
            .collect();
        let expected = ids.map(|cbid| [(cbid, Some(bytes)); 2]);
        assert_eq!(sizes, expected.concat());
        assert_eq!(letters(&world.flush(0).concat()), records);
    }
}
