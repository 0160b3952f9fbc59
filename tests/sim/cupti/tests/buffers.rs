//! When buffers are returned, and what they hold. Each test is a rule that was observed on an H200
//! with libcupti of CUDA 13.0.

mod common;

use std::sync::atomic::Ordering;

use common::*;

/// A kernel that still runs delays the whole buffer of its thread, but not those of other threads.
#[test]
fn one_running_kernel_delays_the_buffer_of_its_thread() {
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

/// A forced flush does not wait. It returns unfinished records without time stamps, and never
/// again.
#[test]
fn a_forced_flush_returns_unfinished_records() {
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

/// A buffer also counts as full when it holds the client's maximum number of records.
#[test]
fn a_full_buffer_is_returned_when_its_activities_are_over() {
    let mut world = world();
    // Room for two kernels of 216 bytes.
    SIZE.store(600, Ordering::Release);
    world.enable(&[CONCURRENT_KERNEL], &[]);
    for _ in 0..3 {
        world.launch(1_000);
    }
    assert_eq!(
        world.buffers(),
        [] as [Vec<Record>; 0],
        "it is full, but its kernels are not over"
    );
    world.pass(3_000);
    world.launch(1_000);
    assert_eq!(letters(&world.buffers().concat()), "KK");
    world.pass(1_000);
    assert_eq!(letters(&world.flush(0).concat()), "KK");
    MAX_RECORDS.store(1, Ordering::Release);
    SIZE.store(4_096, Ordering::Release);
    world.launch(0);
    assert_eq!(letters(&world.buffers().concat()), "K");
}

/// Reading the count resets it.
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
    assert_eq!(world.dropped(), 2, "the buffer is too small for the kernel");
    SIZE.store(4_096, Ordering::Release);
    world.launch(1_000);
    world.pass(10_000);
    assert_eq!(letters(&world.flush(0).concat()), "KA");
    assert_eq!(world.dropped(), 0);
}

/// 12: the end of the buffer. 1: a null buffer. 21: an incomplete record.
#[test]
fn walking_a_buffer_ends_with_a_code() {
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

#[test]
fn buffers_are_flushed_periodically_on_request() {
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

/// What a real library does if the client promises zeroed buffers and breaks the promise, as here,
/// is unknown; this one refuses them.
#[test]
fn a_client_that_promises_zeroed_buffers_must_zero_them() {
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
