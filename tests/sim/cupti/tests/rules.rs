//! How CUPTI behaves around its records. Each test is a rule that was seen on an H200 with libcupti of CUDA 13.0.

mod common;

use std::sync::atomic::Ordering;

use common::*;

/// One subscriber: the second is refused with 39, until the first is gone.
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

/// The version, the clock and the names.
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

/// A function that is switched on or off while the kind DRIVER is off is not, then or later, and no answer says so.
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

/// With the kind on every call is recorded, until all but the wanted ones are switched off; the kind switched off and on again
/// has all of them once more.
#[test]
fn functions_are_chosen_after_their_kind() {
    let mut world = world();
    let event = world.stream.context().new_event(None).unwrap();
    let seen = |world: &mut World| {
        let stream = world.stream.clone();
        event.record(&stream).unwrap();
        world.launch(0);
        let ids = calls(&world.flush(0)).into_iter().map(|call| call.cbid);
        // cudarc asks for and sets the current context around its own calls: 303 and 304.
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

/// A launch through the runtime is a RUNTIME record and no DRIVER record, with the kernel's correlation id.
#[test]
fn a_launch_through_the_runtime_is_in_one_of_the_two_kinds() {
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

/// Kinds that are not simulated are refused, and so is the kind of kernels that serializes beside the one that does not.
#[test]
fn kinds_that_cannot_be() {
    let world = world();
    world.enable(&[CONCURRENT_KERNEL], &[]);
    assert_eq!((world.api.enable)(3), 14);
    assert_eq!((world.api.enable)(17), 21);
    assert_eq!((world.api.disable)(17), 21);
}

/// Popping an empty stack answers 18. Stacks are a thread's own.
#[test]
fn an_empty_stack_says_so() {
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

/// A flush keeps back the whole buffer of a thread for one kernel that still runs, and hands out those of other threads.
#[test]
fn buffers_are_per_thread_and_kept_back_for_one_kernel() {
    let mut world = world();
    world.enable(&[CONCURRENT_KERNEL, EXTERNAL], &[LAUNCH]);
    let other = world.stream.context().new_stream().unwrap();
    world.launch(300_000);
    world.gpu.launch_on(&other, 1_000);
    std::thread::scope(|scope| {
        let (gpu, other) = (&mut world.gpu, &other);
        scope.spawn(move || gpu.launch_on(other, 2_000));
    });
    world.pass(10_000);
    let buffers = world.flush(0);
    assert_eq!(
        buffers.iter().map(|b| letters(b)).collect::<Vec<_>>(),
        ["KA"]
    );
    let kernel = &kernels(&buffers)[0];
    assert_eq!(kernel.end - kernel.start, 2_000);
    world.pass(290_000);
    let buffers = world.flush(0);
    assert_eq!(
        buffers.iter().map(|b| letters(b)).collect::<Vec<_>>(),
        ["KAKA"]
    );
    let lasted = |kernel: &Kernel| kernel.end - kernel.start;
    assert_eq!(
        kernels(&buffers).iter().map(lasted).collect::<Vec<_>>(),
        [300_000, 1_000]
    );
}

/// A forced flush hands it out: without stamps what is not over, with them what is. It does not wait, and does not come again.
#[test]
fn a_forced_flush_hands_out_what_is_not_over() {
    let mut world = world();
    world.enable(&[CONCURRENT_KERNEL], &[LAUNCH]);
    let now = world.sim.now();
    world.launch(1_000);
    world.launch(300_000);
    world.pass(5_000);
    let kernels = kernels(&world.flush(1));
    let stamps: Vec<_> = kernels
        .iter()
        .map(|kernel| (kernel.start, kernel.end))
        .collect();
    assert_eq!(stamps, [(now, now + 1_000), (0, 0)]);
    assert_eq!(world.sim.now(), now + 5_000);
    world.pass(300_000);
    assert_eq!(world.flush(1), [] as [Vec<Record>; 0]);
}

/// In a capture a launch is its call and no activity. A replay is one call, and one activity for each node, all with the call's
/// correlation id, the graph's number and the node's.
#[test]
fn a_replay_is_one_call_and_all_its_nodes() {
    let mut world = world();
    world.enable(&[CONCURRENT_KERNEL, MEMSET, EXTERNAL], &[LAUNCH, 216, 514]);
    world.push(9);
    world.begin_capture();
    world.launch(1_000);
    let (address, stream) = (world.address(), world.stream.cu_stream());
    // SAFETY: so many bytes are there.
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

/// A full buffer goes back by itself as soon as all that it tells of is over; the client's own limit of records counts too.
#[test]
fn a_full_buffer_goes_back_when_it_is_over() {
    let mut world = world();
    // Two kernels of 216 bytes, and no third.
    SIZE.store(600, Ordering::Release);
    world.enable(&[CONCURRENT_KERNEL], &[]);
    for _ in 0..3 {
        world.launch(1_000);
    }
    assert_eq!(
        world.buffers(),
        [] as [Vec<Record>; 0],
        "it is full, and not over"
    );
    world.pass(3_000);
    world.launch(1_000);
    assert_eq!(letters(&world.buffers().concat()), "KK");
    world.pass(1_000);
    assert_eq!(letters(&world.flush(0).concat()), "KK");
    MOST.store(1, Ordering::Release);
    SIZE.store(4_096, Ordering::Release);
    world.launch(0);
    assert_eq!(letters(&world.buffers().concat()), "K");
}

/// Records that find no buffer are dropped and counted, and the count starts again when it is read.
#[test]
fn records_without_a_buffer_are_dropped_and_counted() {
    let mut world = world();
    world.enable(&[CONCURRENT_KERNEL], &[LAUNCH]);
    SIZE.store(0, Ordering::Release);
    world.launch(1_000);
    world.launch(1_000);
    assert_eq!((world.dropped(), world.dropped()), (4, 0));
    SIZE.store(64, Ordering::Release);
    world.launch(1_000);
    assert_eq!(world.dropped(), 2, "a buffer too small for the kernel");
    SIZE.store(4_096, Ordering::Release);
    world.launch(1_000);
    world.pass(10_000);
    assert_eq!(letters(&world.flush(0).concat()), "KA");
    assert_eq!(world.dropped(), 0);
}

/// The walk ends with 12. A null buffer is 1, and what is no whole record 21.
#[test]
fn the_walk_ends() {
    let world = world();
    let mut record = std::ptr::null_mut();
    let mut buffer = [0_u64; 8];
    buffer[0] = u64::from(DRIVER);
    let start: *mut u8 = buffer.as_mut_ptr().cast();
    assert_eq!((world.api.next)(start, 0, &mut record), 12);
    assert_eq!((world.api.next)(std::ptr::null_mut(), 8, &mut record), 1);
    assert_eq!((world.api.next)(start, 39, &mut record), 21);
    assert_eq!((world.api.next)(start, 40, &mut record), 0);
    assert_eq!(record, start);
    assert_eq!((world.api.next)(start, 40, &mut record), 12);
    assert_eq!(
        (world.api.next)(start, 64, &mut record),
        21,
        "kind 0 follows"
    );
}

/// Asked to flush from time to time, the library does so by itself.
#[test]
fn it_flushes_by_itself_where_it_is_asked_to() {
    let mut world = world();
    world.enable(&[CONCURRENT_KERNEL], &[]);
    assert_eq!((world.api.flush_period)(1), 0);
    world.launch(1_000);
    world.pass(500_000);
    world.stream.synchronize().unwrap();
    assert_eq!(world.buffers(), [] as [Vec<Record>; 0]);
    world.pass(500_000);
    world.stream.synchronize().unwrap();
    assert_eq!(letters(&world.buffers().concat()), "K");
}

/// Watching changes no time: the same calls take as long with everything enabled.
#[test]
fn watching_takes_no_time() {
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

/// Told that buffers come zeroed, the library leaves that to the client. What it does with one that is not, as this client's are
/// not, is not known: here it takes none.
#[test]
fn buffers_have_to_be_zeroed_once_the_client_says_that_they_are() {
    let mut world = world();
    let set = |attribute, yes: u8| {
        let mut size = 1;
        (world.api.set_attribute)(attribute, &mut size, &yes)
    };
    assert_eq!((set(5, 1), set(999, 1)), (0, 1));
    world.enable(&[CONCURRENT_KERNEL], &[]);
    let kernels = |world: &mut World| {
        world.launch(1_000);
        world.pass(1_000);
        let records: usize = world.flush(0).iter().map(Vec::len).sum();
        (records, world.dropped())
    };
    assert_eq!(kernels(&mut world), (0, 1));
    let mut size = 1;
    assert_eq!((world.api.set_attribute)(5, &mut size, &0), 0);
    assert_eq!(kernels(&mut world), (1, 0));
}

/// The subscriber is called back as a call begins and as it returns, for the functions that it asked for; by the call's id it finds
/// what the call had run.
#[test]
fn calls_are_told_as_they_begin_and_as_they_return() {
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
    let told = world.told();
    let [enter, leave] = told[..] else {
        panic!("{told:?}")
    };
    let launch = |site, time, answer| Told {
        site,
        domain: 1,
        cbid: LAUNCH,
        correlation: enter.correlation,
        time,
        answer,
    };
    assert_eq!(enter, launch(0, began, None));
    assert_eq!(leave, launch(1, began + 300, Some(0)));
    let kernel = kernels(&world.flush(0))[0].correlation;
    assert_eq!(kernel, enter.correlation);
    assert_eq!(enable(0, world.subscriber, 1, LAUNCH), 0);
    world.launch(1_000);
    assert_eq!(world.told(), []);
}
