//! The contents of records, exact to the nanosecond under the virtual clock.

mod common;

use common::*;
use cudarc::driver::{CudaContext, DriverError, result, sys};

/// A kernel of 12.5 µs whose launch takes 700 ns: the kernel starts when the call ends, and the
/// external-correlation record holds the innermost pushed id. All three records have the
/// correlation id of the call.
#[test]
fn a_launch_is_an_external_id_a_kernel_and_a_call() {
    let mut world = world();
    world.enable(&[CONCURRENT_KERNEL, EXTERNAL], &[LAUNCH]);
    world.sim.set_call_ns("cuLaunchKernel", 700);
    let before = world.sim.now();
    world.push(41);
    world.push(42);
    world.launch(12_500);
    assert_eq!(world.pop(), Ok(42));
    world.launch(2_000);
    assert_eq!(world.pop(), Ok(41));
    world.pass(20_000);
    let buffers = world.flush(0);
    let [buffer] = &buffers[..] else {
        panic!("{buffers:?}");
    };
    assert_eq!(letters(buffer), "EKAEKA");
    let (first, second) = (buffer[0].correlation(), buffer[3].correlation());
    assert!(second > first);
    let id = |id, correlation| {
        Record::External(External {
            kind: CUSTOM0,
            id,
            correlation,
        })
    };
    assert_eq!((&buffer[0], &buffer[3]), (&id(42, first), &id(41, second)));
    let (context, stream) = (context_id(), world.number(&world.stream));
    let kernel = |start, end, correlation| Kernel {
        name: "saxpy".into(),
        start,
        end,
        device: 0,
        context,
        stream,
        grid: [2, 1, 1],
        block: [128, 1, 1],
        registers: 32,
        static_shared: 0,
        dynamic_shared: 512,
        local: 0,
        correlation,
        node: 0,
        graph: 0,
    };
    assert_eq!(
        kernels(&buffers),
        [
            kernel(before + 700, before + 13_200, first),
            kernel(before + 13_200, before + 15_200, second)
        ]
    );
    let call = |start, correlation| Call {
        kind: DRIVER,
        cbid: LAUNCH,
        start,
        end: start + 700,
        process: std::process::id(),
        // SAFETY: it has no preconditions.
        thread: unsafe { libc::pthread_self() } as u32,
        correlation,
        result: 0,
    };
    assert_eq!(
        calls(&buffers),
        [call(before, first), call(before + 700, second)]
    );
    assert_eq!(world.dropped(), 0);
}

#[test]
fn a_kernel_record_has_the_resources_that_the_driver_reports() {
    let mut world = world();
    world.enable(&[CONCURRENT_KERNEL], &[]);
    world.sim.set_kernel_resources("saxpy", 168, 4_096, 96);
    world.launch(1_000);
    world.sim.set_kernel_resources("saxpy", 32, 0, 0);
    world.pass(1_000);
    let kernel = kernels(&world.flush(0)).remove(0);
    let resources = (kernel.registers, kernel.static_shared, kernel.local);
    assert_eq!(resources, (168, 4_096, 96));
}

#[test]
fn a_failed_launch_is_a_call_without_a_kernel() {
    let mut world = world();
    world.enable(&[CONCURRENT_KERNEL], &[LAUNCH]);
    world.sim.fail("cuLaunchKernel", 1, 1, 1);
    let stream = world.stream.clone();
    let refused = world.gpu.try_launch_on(&stream, 1_000);
    assert_eq!(
        refused,
        Err(DriverError(sys::CUresult::CUDA_ERROR_INVALID_VALUE))
    );
    let buffers = world.flush(0);
    assert_eq!(letters(&buffers[0]), "A");
    assert_eq!(calls(&buffers)[0].result, 1);
}

#[test]
fn a_failed_allocation_is_a_call_without_a_memory_record() {
    let world = world();
    world.enable(&[MEMORY2], &[243]);
    // SAFETY: the simulator refuses a null pointer.
    let answer = unsafe { sys::cuMemAlloc_v2(std::ptr::null_mut(), 64) };
    assert_eq!(answer, sys::CUresult::CUDA_ERROR_INVALID_VALUE);
    assert_eq!(letters(&world.flush(0).concat()), "A");
}

/// `kinds` holds the direction (1 HtoD, 2 DtoH, 8 DtoD), the two kinds of memory (1 pageable, 2
/// pinned, 3 device), and whether the call was asynchronous. Synchronous copies run on the null
/// stream, whose CUPTI stream id is 7.
#[test]
fn copies_have_direction_memory_and_size() {
    let world = world();
    let context = world.stream.context().clone();
    // SAFETY: the memory is written before it is read.
    let mut pinned = unsafe { context.alloc_pinned::<f32>(LEN) }.unwrap();
    let mut pageable = vec![0.0_f32; LEN];
    let mut device = world.stream.alloc_zeros::<f32>(LEN).unwrap();
    let other = world.stream.alloc_zeros::<f32>(LEN).unwrap();
    world.stream.synchronize().unwrap();
    world.sim.set_kernel_ns("memcpy", 300);
    world.enable(&[MEMCPY], &[]);
    let (stream, before) = (&world.stream, world.sim.now());
    stream.memcpy_htod(&pageable, &mut device).unwrap();
    stream.memcpy_htod(&pinned, &mut device).unwrap();
    stream.memcpy_dtoh(&device, &mut pinned).unwrap();
    stream.memcpy_dtod(&other, &mut device).unwrap();
    stream.memcpy_dtoh(&device, &mut pageable).unwrap();
    // SAFETY: the allocation is large enough.
    unsafe { result::memcpy_htod_sync(world.address(), &[1.0_f32]) }.unwrap();
    let copies: Vec<_> = world.flush(0).concat();
    let number = world.number(stream);
    let copy = |index: u64, kinds, bytes, stream| {
        let start = before + 300 * index;
        let correlation = copies[index as usize].correlation();
        Record::Copy(Copy {
            kinds,
            bytes,
            start,
            end: start + 300,
            stream,
            correlation,
            node: 0,
        })
    };
    let expected = [
        copy(0, [1, 1, 3, 1], 1_024, number),
        copy(1, [1, 2, 3, 1], 1_024, number),
        copy(2, [2, 3, 2, 1], 1_024, number),
        copy(3, [8, 3, 3, 1], 1_024, number),
        copy(4, [2, 3, 1, 1], 1_024, number),
        copy(5, [1, 1, 3, 0], 4, 7),
    ];
    assert_eq!(copies, expected);
}

/// If only MEMCPY is enabled, a copy between devices is not recorded.
#[test]
fn a_copy_between_devices_has_its_own_kind() {
    let world = world();
    let there = CudaContext::new(1).unwrap();
    let far = there.default_stream().alloc_zeros::<f32>(LEN).unwrap();
    let mut near = world.stream.alloc_zeros::<f32>(LEN).unwrap();
    there.synchronize().unwrap();
    world.stream.context().bind_to_thread().unwrap();
    world.enable(&[MEMCPY], &[]);
    world.stream.memcpy_dtod(&far, &mut near).unwrap();
    assert_eq!(world.flush(0), [] as [Vec<Record>; 0]);
    world.enable(&[MEMCPY2], &[]);
    world.stream.memcpy_dtod(&far, &mut near).unwrap();
    let peers: Vec<_> = world.flush(0).concat();
    let [Record::Peer(peer)] = &peers[..] else {
        panic!("{peers:?}");
    };
    assert_eq!(
        (peer.kinds, peer.bytes, peer.devices),
        ([10, 3, 3, 1], 1_024, [1, 0])
    );
}

#[test]
fn memsets_have_value_and_size() {
    let world = world();
    world.sim.set_kernel_ns("memset", 250);
    world.enable(&[MEMSET], &[]);
    let before = world.sim.now();
    // SAFETY: the allocation is large enough.
    unsafe { result::memset_d8_async(world.address(), 7, 64, world.stream.cu_stream()) }.unwrap();
    // SAFETY: as above.
    unsafe { result::memset_d8_sync(world.address(), 9, 32) }.unwrap();
    world.pass(500);
    let sets: Vec<_> = world.flush(0).concat();
    let set = |index: usize, value, bytes, stream, flags| {
        Record::Set(Set {
            value,
            bytes,
            start: before,
            end: before + 250,
            stream,
            correlation: sets[index].correlation(),
            flags,
            memory: 3,
            node: 0,
        })
    };
    let number = world.number(&world.stream);
    assert_eq!(sets, [set(0, 7, 64, number, 1), set(1, 9, 32, 7, 0)]);
}

/// Kinds of memory: 2 pinned, 3 device. Only stream-ordered memory has a stream and is
/// asynchronous.
#[test]
fn allocations_and_frees_have_their_kind_of_memory() {
    let world = world();
    world.enable(&[MEMORY2], &[]);
    let stream = world.stream.cu_stream();
    let at = world.sim.now();
    // SAFETY: it is freed below, as are the next two.
    let pinned = unsafe { result::malloc_host(4_096, 0) }.unwrap();
    // SAFETY: as above.
    let plain = unsafe { result::malloc_sync(512) }.unwrap();
    // SAFETY: as above.
    let ordered = unsafe { result::malloc_async(stream, 256) }.unwrap();
    // SAFETY: it came from the matching allocation, and nobody uses it.
    unsafe { result::free_async(ordered, stream) }.unwrap();
    // SAFETY: as above.
    unsafe { result::free_sync(plain) }.unwrap();
    // SAFETY: as above.
    unsafe { result::free_host(pinned) }.unwrap();
    let addresses = [pinned as u64, plain, ordered];
    let memory: Vec<_> = world.flush(0).concat();
    let record = |index: usize, operation, kind, of: usize, bytes, asynchronous| {
        Record::Memory(Memory {
            operation,
            kind,
            correlation: memory[index].correlation(),
            address: addresses[of],
            bytes,
            at,
            stream: if asynchronous == 1 {
                world.number(&world.stream)
            } else {
                u32::MAX
            },
            asynchronous,
        })
    };
    let expected = [
        record(0, 1, 2, 0, 4_096, 0),
        record(1, 1, 3, 1, 512, 0),
        record(2, 1, 3, 2, 256, 1),
        record(3, 2, 3, 2, 256, 1),
        record(4, 2, 3, 1, 512, 0),
        record(5, 2, 2, 0, 4_096, 0),
    ];
    assert_eq!(memory, expected);
}

/// Synchronization types: 1 event synchronize, 2 stream wait event (does not block the host), 3
/// stream synchronize, 4 context synchronize.
#[test]
fn waits_have_their_kind_and_duration() {
    let mut world = world();
    let other = world.stream.context().new_stream().unwrap();
    let event = world.stream.context().new_event(None).unwrap();
    world.enable(&[SYNCHRONIZATION], &[]);
    let before = world.sim.now();
    world.launch(1_000);
    world.stream.synchronize().unwrap();
    world.launch(2_000);
    event.record(&world.stream).unwrap();
    other.wait(&event).unwrap();
    event.synchronize().unwrap();
    world.launch(3_000);
    world.stream.context().synchronize().unwrap();
    let waits: Vec<_> = world.flush(0).concat();
    let number = |wait: &Record| match wait {
        Record::Wait(wait) => wait.event,
        other => panic!("{other:?}"),
    };
    let of_event = number(&waits[1]);
    assert_ne!(of_event, u32::MAX);
    let wait = |index: usize, on, from, to, stream, event| {
        Record::Wait(Wait {
            on,
            start: before + from,
            end: before + to,
            correlation: waits[index].correlation(),
            stream,
            event,
        })
    };
    let (first, second) = (world.number(&world.stream), world.number(&other));
    let expected = [
        wait(0, 3, 0, 1_000, first, u32::MAX),
        wait(1, 2, 1_000, 1_000, second, of_event),
        wait(2, 1, 1_000, 3_000, u32::MAX, of_event),
        wait(3, 4, 3_000, 6_000, u32::MAX, u32::MAX),
    ];
    assert_eq!(waits, expected);
}

fn context_id() -> u32 {
    let mut id = 0;
    // SAFETY: null is the current context, and `id` is writable.
    let code = unsafe { sys::cuCtxGetId(std::ptr::null_mut(), &mut id) };
    assert_eq!(code, sys::CUresult::CUDA_SUCCESS);
    id as u32
}
