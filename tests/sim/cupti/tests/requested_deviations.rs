//! The failures and deviations that a test can ask for.

mod common;

use common::*;
use simcupti::{InvalidStamps, Order, Version};

/// The records of CUDA 12.0 are shorter than those of 13.0 and have the same contents.
#[test]
fn records_of_an_older_version_are_shorter() {
    let mut world = world();
    let kinds = [
        CONCURRENT_KERNEL,
        MEMCPY,
        MEMSET,
        MEMORY2,
        SYNCHRONIZATION,
        EXTERNAL,
    ];
    // Launch, asynchronous copy, memset, allocation and stream wait, without the free.
    world.enable(&kinds, &[LAUNCH, 277, 216, 598, 126]);
    let (new, new_sizes) = work(&mut world, Version::Cuda13_0, 130_001);
    let (old, old_sizes) = work(&mut world, Version::Cuda12_0, 18);
    assert_eq!(letters(&new), "EKAEMAECAESAEWAM");
    assert_eq!(letters(&old), letters(&new));
    let kernel = |records: &[Record]| match &records[1] {
        Record::Kernel(kernel) => (kernel.name.clone(), kernel.block, kernel.end - kernel.start),
        other => panic!("{other:?}"),
    };
    assert_eq!(kernel(&old), ("saxpy".into(), [128, 1, 1], 1_000));
    assert_eq!(kernel(&new), kernel(&old));
    assert_eq!(
        new_sizes,
        [
            24, 216, 40, 24, 128, 40, 24, 96, 40, 24, 88, 40, 24, 56, 40, 128
        ]
    );
    assert_eq!(
        old_sizes,
        [
            24, 208, 40, 24, 120, 40, 24, 88, 40, 24, 88, 40, 24, 40, 40, 120
        ]
    );
}

#[test]
fn any_version_number_can_be_set() {
    let world = world();
    world.cupti.set_version_reporting(Version::Cuda12_0, 17);
    let mut number = 0;
    assert_eq!((world.api.version)(&mut number), 0);
    assert_eq!(number, 17);
}

/// The records of some work under `version`, and their sizes.
fn work(world: &mut World, version: Version, number: u32) -> (Vec<Record>, Vec<usize>) {
    world.cupti.set_version(version);
    let mut answer = 0;
    assert_eq!((world.api.version)(&mut answer), 0);
    assert_eq!(answer, number);
    sizes().clear();
    world.push(3);
    world.launch(1_000);
    let mut data = world.stream.clone_htod(&[1.0_f32; 4]).unwrap();
    world.stream.memset_zeros(&mut data).unwrap();
    world.stream.synchronize().unwrap();
    drop(data);
    assert_eq!(world.pop(), Ok(3));
    let records = world.flush(0).concat();
    (records, std::mem::take(&mut *sizes()))
}

/// With one record per buffer, a call arrives before the kernel that it launched, which still runs.
#[test]
fn small_buffers_separate_calls_from_their_kernels() {
    let mut world = world();
    world.cupti.split(1);
    world.enable(&[CONCURRENT_KERNEL, EXTERNAL], &[LAUNCH]);
    world.push(1);
    world.launch(1_000);
    let first: Vec<_> = world
        .buffers()
        .iter()
        .map(|buffer| letters(buffer))
        .collect();
    assert_eq!(first, ["E", "A"]);
    world.pass(1_000);
    let then: Vec<_> = world
        .flush(0)
        .iter()
        .map(|buffer| letters(buffer))
        .collect();
    assert_eq!(then, ["K"]);
    assert_eq!(world.pop(), Ok(1));
}

#[test]
fn records_have_the_requested_order() {
    let mut world = world();
    world.enable(&[CONCURRENT_KERNEL, EXTERNAL], &[LAUNCH]);
    let mut in_order = |order| {
        world.cupti.set_order(order);
        world.push(1);
        world.launch(1_000);
        world.launch(2_000);
        assert_eq!(world.pop(), Ok(1));
        world.pass(3_000);
        let buffers = world.flush(0);
        let lasts: Vec<_> = kernels(&buffers).iter().map(|k| k.end - k.start).collect();
        (letters(&buffers[0]), lasts)
    };
    let (forth, back) = (vec![1_000, 2_000], vec![2_000, 1_000]);
    assert_eq!(in_order(Order::Measured), ("EKAEKA".into(), forth.clone()));
    assert_eq!(
        in_order(Order::ActivitiesFirst),
        ("KKEAEA".into(), forth.clone())
    );
    assert_eq!(in_order(Order::ActivitiesLast), ("EAEAKK".into(), forth));
    assert_eq!(in_order(Order::Reversed), ("AKEAKE".into(), back.clone()));
    assert_eq!(in_order(Order::KernelsReversed), ("EKAEKA".into(), back));
}

#[test]
fn a_requested_record_is_dropped_and_counted() {
    let mut world = world();
    world.enable(&[CONCURRENT_KERNEL], &[LAUNCH]);
    world.cupti.drop_record(CONCURRENT_KERNEL, 2);
    world.cupti.drop_record(0, 1);
    for ns in [1_000, 2_000, 3_000] {
        world.launch(ns);
    }
    world.pass(6_000);
    let buffers = world.flush(0);
    assert_eq!(letters(&buffers[0]), "AAKA");
    assert_eq!(world.dropped(), 2);
}

#[test]
fn requested_kernels_have_invalid_stamps() {
    let mut world = world();
    world.enable(&[CONCURRENT_KERNEL], &[]);
    world.cupti.corrupt_stamps(2, InvalidStamps::Zero);
    world.cupti.corrupt_stamps(3, InvalidStamps::Reversed);
    let before = world.sim.now();
    for _ in 0..4 {
        world.launch(1_000);
    }
    world.pass(4_000);
    let stamp = |kernel: &Kernel| (kernel.start, kernel.end);
    let stamps: Vec<_> = kernels(&world.flush(0)).iter().map(stamp).collect();
    let at = |ns| before + ns;
    assert_eq!(
        stamps,
        [
            (at(0), at(1_000)),
            (0, 0),
            (at(3_000), at(2_000)),
            (at(3_000), at(4_000))
        ]
    );
}

/// Any function fails at the requested call, without any effect.
#[test]
fn requested_calls_fail() {
    let world = world();
    world
        .cupti
        .fail("cuptiActivityPushExternalCorrelationId", 2, 1, 8);
    world.push(1);
    assert_eq!((world.api.push)(CUSTOM0, 2), 8);
    world.push(3);
    assert_eq!(
        (world.pop(), world.pop(), world.pop()),
        (Ok(3), Ok(1), Err(18))
    );
    world.cupti.reset();
    world.cupti.fail("cuptiSubscribe", 1, u64::MAX, 35);
    assert_eq!((world.api.subscribe(), world.api.subscribe()), (35, 35));
    world.cupti.clear_failures();
    assert_eq!(world.api.subscribe(), 0);
}

#[test]
fn calls_are_counted_even_if_they_fail() {
    let world = world();
    world.cupti.reset_calls();
    assert_eq!(world.cupti.calls_by_symbol(), []);
    world.push(1);
    world.push(1);
    assert_eq!(world.api.subscribe(), 39);
    let counted = [
        ("cuptiActivityPushExternalCorrelationId", 2),
        ("cuptiSubscribe", 1),
    ];
    let counted = counted.map(|(name, calls)| (name.to_owned(), calls));
    assert_eq!(world.cupti.calls_by_symbol(), counted);
}
