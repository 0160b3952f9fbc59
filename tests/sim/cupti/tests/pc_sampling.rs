//! The samples of PC sampling in continuous mode (`cupti_pcsampling.h` of CUDA 13.0).

mod common;

use common::pc_client::{Buffer, Read, configure, disable, enable, index_of, of_context, read};
use common::{CONCURRENT_KERNEL, World, address, world};
use cudarc::driver::CudaContext;
use simcupti::StallModel;

const OK: u32 = 0;
const INVALID_OPERATION: u32 = 7;
const OUT_OF_MEMORY: u32 = 8;

/// Attributes of the configuration.
const STALL_REASONS: u32 = 2;
const START_STOP_CONTROL: u32 = 6;
const DATA_BUFFER: u32 = 8;

/// A world in which each launch of saxpy adds 30 samples at one instruction.
fn sampled() -> (World, u64) {
    let world = world();
    let stall = StallModel {
        offset: 0x20,
        reason: "long_scoreboard",
        samples: 30,
        not_issued: false,
    };
    world.cupti.set_stalls("saxpy", &[stall]);
    let context = world.context();
    (world, context)
}

/// A launch that is over afterwards.
fn launch(world: &mut World) {
    world.launch(1_000);
    world.pass(1_000);
}

#[test]
fn a_launch_adds_its_samples_when_it_ends() {
    let (mut world, context) = sampled();
    assert_eq!(enable(context), OK);
    let reason = index_of(context, "long_scoreboard");
    world.launch(1_000);
    world.pass(999);
    assert_eq!(read(context, 9), Read::default());
    world.pass(1);
    let first = read(context, 9);
    assert_eq!((first.total, first.remaining), (30, 0));
    let [pc] = &first.pcs[..] else {
        panic!("{first:?}")
    };
    assert_eq!((pc.function.as_str(), pc.symbol), ("saxpy", 1));
    assert_eq!((pc.offset, pc.correlation), (0x20, 0));
    assert_eq!(pc.reasons, [(reason, 30)]);
    assert_eq!(read(context, 9), Read::default(), "only what is new");
    launch(&mut world);
    launch(&mut world);
    assert_eq!(read(context, 9).samples(), [(0x20, reason, 60)]);
}

#[test]
fn a_launch_has_the_samples_that_were_set_before_it() {
    let (mut world, context) = sampled();
    assert_eq!(enable(context), OK);
    world.launch(1_000);
    world.cupti.set_stalls("saxpy", &[]);
    world.launch(1_000);
    world.pass(2_000);
    assert_eq!(read(context, 9).total, 30);
}

#[test]
fn launches_count_that_end_while_it_is_enabled() {
    let (mut world, context) = sampled();
    // Lets the library see all launches.
    world.enable(&[CONCURRENT_KERNEL], &[]);
    launch(&mut world);
    world.launch(1_000);
    assert_eq!(enable(context), OK);
    world.pass(1_000);
    assert_eq!(read(context, 9).total, 30);
    world.launch(1_000);
    assert_eq!(disable(context), OK);
    world.pass(1_000);
    assert_eq!(enable(context), OK);
    assert_eq!(read(context, 9), Read::default());
    world.launch(1_000);
    assert_eq!((world.api.disable)(CONCURRENT_KERNEL), OK);
    world.launch(1_000);
    world.pass(2_000);
    assert_eq!(read(context, 9).total, 60, "also without any activity");
}

#[test]
fn a_context_has_the_samples_of_its_own_launches() {
    let (mut world, context) = sampled();
    let device = CudaContext::new(1).unwrap();
    let other = device.cu_ctx() as u64;
    assert_eq!((enable(context), enable(other)), (OK, OK));
    launch(&mut world);
    assert_eq!(read(other, 9), Read::default());
    assert_eq!(read(context, 9).total, 30);
}

#[test]
fn a_replay_adds_the_samples_of_its_kernels() {
    let (mut world, context) = sampled();
    assert_eq!(enable(context), OK);
    world.begin_capture();
    world.launch(1_000);
    world.launch(1_000);
    let graph = world.end_capture();
    graph.launch().unwrap();
    world.pass(10_000);
    let samples = read(context, 9);
    assert_eq!((samples.total, samples.pcs.len()), (60, 1));
}

#[test]
fn with_control_launches_count_that_end_between_start_and_stop() {
    let (mut world, context) = sampled();
    let [start, stop] = ["cuptiPCSamplingStart", "cuptiPCSamplingStop"];
    assert_eq!(enable(context), OK);
    assert_eq!(of_context(start, context), INVALID_OPERATION, "no control");
    assert_eq!(of_context(stop, context), INVALID_OPERATION, "no control");
    assert_eq!(configure(context, &[(START_STOP_CONTROL, [1, 0])]).0, OK);
    launch(&mut world);
    assert_eq!(of_context(stop, context), INVALID_OPERATION);
    assert_eq!(of_context(start, context), OK);
    assert_eq!(of_context(start, context), INVALID_OPERATION);
    launch(&mut world);
    world.launch(1_000);
    assert_eq!(of_context(stop, context), OK);
    world.pass(1_000);
    let first = read(context, 9);
    assert_eq!((first.total, first.range), (30, 1));
    assert_eq!(of_context(start, context), OK);
    let second = read(context, 9);
    assert_eq!((second.total, second.range), (0, 2));
}

#[test]
fn only_the_stall_reasons_that_were_asked_for_are_given() {
    let (mut world, context) = sampled();
    let stall = |offset, reason, samples, not_issued| StallModel {
        offset,
        reason,
        samples,
        not_issued,
    };
    let stalls = [
        stall(0, "wait", 1, true),
        stall(0x10, "barrier", 2, true),
        stall(0x10, "wait", 4, false),
        stall(0x20, "barrier", 8, false),
    ];
    world.cupti.set_stalls("saxpy", &stalls);
    assert_eq!(enable(context), OK);
    let [wait, waiting] = ["wait", "wait_not_issued"].map(|reason| index_of(context, reason));
    launch(&mut world);
    let barriers = ["barrier", "barrier_not_issued"].map(|reason| index_of(context, reason));
    let all = read(context, 9);
    assert_eq!(all.total, 15, "a sample counts once");
    let expected = [
        (0, wait, 1),
        (0, waiting, 1),
        (0x10, wait, 4),
        (0x10, barriers[0], 2),
        (0x10, barriers[1], 2),
        (0x20, barriers[0], 8),
    ];
    assert_eq!(all.samples(), expected);
    let asked = [waiting, wait];
    assert_eq!(
        configure(context, &[(STALL_REASONS, [2, address(&asked)])]).0,
        OK
    );
    launch(&mut world);
    let some = read(context, 9);
    assert_eq!(some.total, 15, "all reasons");
    let expected = [(0, wait, 1), (0, waiting, 1), (0x10, wait, 4)];
    assert_eq!(some.samples(), expected);
}

#[test]
#[should_panic(expected = "no stall reason \"boredom\"")]
fn a_test_sets_samples_of_known_reasons() {
    let (world, _) = sampled();
    let stall = StallModel {
        reason: "boredom",
        ..StallModel::default()
    };
    world.cupti.set_stalls("saxpy", &[stall]);
}

#[test]
fn instructions_without_room_remain_for_the_next_read() {
    let (mut world, context) = sampled();
    let stalls = [0, 0x10, 0x20].map(|offset| StallModel {
        offset,
        reason: "wait",
        samples: 5,
        not_issued: false,
    });
    world.cupti.set_stalls("saxpy", &stalls);
    assert_eq!(enable(context), OK);
    launch(&mut world);
    let reads = [2, 0, 2].map(|room| read(context, room));
    let offsets = reads.each_ref().map(|read| {
        let offsets = read.pcs.iter().map(|pc| pc.offset);
        (offsets.collect::<Vec<_>>(), read.remaining, read.total)
    });
    let expected = [(vec![0, 0x10], 1, 15), (vec![], 1, 0), (vec![0x20], 0, 0)];
    assert_eq!(offsets, expected);
}

#[test]
fn dropped_samples_and_those_of_other_kernels_are_part_of_the_total() {
    let (mut world, context) = sampled();
    assert_eq!(enable(context), OK);
    launch(&mut world);
    world.cupti.set_dropped_samples(7);
    world.cupti.set_other_samples(11);
    let first = read(context, 9);
    assert_eq!((first.total, first.dropped, first.other), (48, 7, 11));
    assert_eq!(read(context, 9), Read::default());
}

#[test]
fn a_full_hardware_buffer_has_no_instructions() {
    let (mut world, context) = sampled();
    assert_eq!(enable(context), OK);
    launch(&mut world);
    world.cupti.fill_hardware_buffer();
    let mut buffer = Buffer::new(9);
    assert_eq!(buffer.fill(context), OUT_OF_MEMORY);
    let full = Read {
        is_full: true,
        ..Read::default()
    };
    assert_eq!(buffer.content(), full);
    launch(&mut world);
    assert_eq!(buffer.fill(context), OUT_OF_MEMORY, "it stays full");
    assert_eq!(disable(context), OK);
    assert_eq!(enable(context), OK);
    launch(&mut world);
    assert_eq!(buffer.fill(context), OK);
    let next = buffer.content();
    assert_eq!(
        (next.total, next.is_full),
        (30, false),
        "the others are lost"
    );
}

#[test]
fn the_end_writes_what_is_left_into_the_configured_buffer() {
    let (mut world, context) = sampled();
    let stalls = [0, 0x10].map(|offset| StallModel {
        offset,
        reason: "wait",
        samples: 5,
        not_issued: false,
    });
    world.cupti.set_stalls("saxpy", &stalls);
    assert_eq!(enable(context), OK);
    let buffer = Buffer::new(1);
    let attribute = (DATA_BUFFER, [address(&*buffer.data), 0]);
    assert_eq!(configure(context, &[attribute]).0, OK);
    launch(&mut world);
    assert_eq!(buffer.content(), Read::default(), "not before");
    assert_eq!(disable(context), OK);
    let left = buffer.content();
    assert_eq!((left.total, left.remaining, left.pcs.len()), (10, 1, 1));
    assert_eq!(enable(context), OK);
    assert_eq!(read(context, 9), Read::default(), "the rest is lost");
}

/// The header: the name might be shared by all records, and the client frees it.
#[test]
fn records_share_the_name_of_their_function() {
    let (mut world, context) = sampled();
    let mut name = || {
        launch(&mut world);
        let mut buffer = Buffer::new(1);
        assert_eq!((buffer.fill(context), buffer.content().pcs.len()), (OK, 1));
        buffer.pcs[0][4]
    };
    assert_eq!(enable(context), OK);
    let first = name();
    assert_eq!(name(), first);
    assert_eq!(disable(context), OK);
    // The name is not freed yet, so a new one has another address.
    assert_eq!(enable(context), OK);
    assert_ne!(name(), first);
    // SAFETY: the library has allocated it for the client, and uses it no more.
    unsafe { libc::free(first as *mut _) };
}
