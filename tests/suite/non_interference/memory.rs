//! Promise: a thread that makes few GPU calls costs little memory, event pairs that a thread has
//! done with serve others, and a call allocates nothing.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Barrier};

use cudarc::driver::CudaStream;
use gpuprof::gpu_profile;
use support::suite::Module;
use support::tests;
use support::{World, function, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        a_thread_that_makes_one_gpu_call_takes_at_most_64_kb,
        pairs_of_an_idle_thread_serve_others,
        streams_that_a_thread_used_before_take_no_memory,
        timed_calls_allocate_nothing_on_any_thread,
    ]],
);

/// Most that such a thread may take.
const MOST_BYTES: usize = 64 * 1024;
const THREADS: usize = 32;

/// The system's allocator, which counts allocations and the bytes in use. The simulated driver has
/// its own.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

static IN_USE: AtomicUsize = AtomicUsize::new(0);
static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        IN_USE.fetch_add(layout.size(), Relaxed);
        ALLOCATIONS.fetch_add(1, Relaxed);
        super::allocator_calls::on_allocation(layout.size());
        // SAFETY: the caller's guarantees are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's guarantees are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[gpu_profile(stream = w.gpu.stream)]
fn one_kernel(w: &World) {
    w.gpu.kernel(1_000);
}

#[gpu_profile]
fn on(w: &World, stream: &Arc<CudaStream>) {
    w.gpu.kernel_on(stream, 1_000);
}

/// The bytes in use while so many threads live, each of which makes so many calls.
fn in_use_with_threads(w: &World, calls: usize) -> usize {
    let (called, measured) = (Barrier::new(THREADS + 1), Barrier::new(THREADS + 1));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                (0..calls).for_each(|_| one_kernel(w));
                called.wait();
                measured.wait();
            });
        }
        called.wait();
        // What is pending would come on top.
        w.gpu.stream.synchronize().expect("synchronize");
        let _ = gpuprof::collect();
        let in_use = IN_USE.load(Relaxed);
        measured.wait();
        in_use
    })
}

fn a_thread_that_makes_one_gpu_call_takes_at_most_64_kb() {
    let w = world();
    w.warm_up(|| one_kernel(&w));
    let session = w.session();
    let without = in_use_with_threads(&w, 0);
    let with = in_use_with_threads(&w, 1);
    let each = (with - without) / THREADS;
    println!("{each} bytes for a thread that makes one GPU call");
    assert!((1..=MOST_BYTES).contains(&each), "{each}");
    let profile = w.finish(session);
    assert_eq!(function(&profile, "one_kernel").calls, THREADS as u64);
}

fn pairs_of_an_idle_thread_serve_others() {
    let w = world();
    let session = w.session();
    let burst = |calls| {
        (0..calls).for_each(|_| one_kernel(&w));
        w.gpu.stream.synchronize().expect("synchronize");
        let _ = gpuprof::collect();
        w.sim.live_events()
    };
    let first = burst(500);
    // This thread stays while others make calls.
    for _ in 0..8 {
        let events =
            std::thread::scope(|scope| scope.spawn(|| burst(200)).join().expect("no panic"));
        assert!(events <= first, "{events} events, {first} before");
    }
    let profile = w.finish(session);
    let function = function(&profile, "one_kernel");
    assert_eq!((function.calls, function.untimed_calls), (2_100, 0));
}

/// The streams live, but a thread keeps only some of those that it has used.
fn streams_that_a_thread_used_before_take_no_memory() {
    const EACH: usize = 200;
    let w = world();
    let session = w.session();
    let streams: Vec<_> = (0..10 * EACH).map(|_| w.gpu.another_stream()).collect();
    let in_use_after = |streams: &[_]| {
        streams.iter().for_each(|stream| on(&w, stream));
        w.gpu.context.synchronize().expect("synchronize");
        let _ = gpuprof::collect();
        IN_USE.load(Relaxed)
    };
    let in_use: Vec<_> = streams.chunks(EACH).map(in_use_after).collect();
    println!("{in_use:?} bytes");
    // A stream that is kept takes more than 8 KB, and the resolver lets go of the others in time.
    assert!(in_use[9] < in_use[1] + 8 * EACH * 2 * 1_024);
    let profile = w.finish(session);
    let function = function(&profile, "on");
    assert_eq!(
        (function.calls, function.untimed_calls),
        (10 * EACH as u64, 0)
    );
}

/// cudarc allocates for each launch, so calls are compared with the same calls unmeasured.
fn timed_calls_allocate_nothing_on_any_thread() {
    const CALLS: usize = 4_000;
    let w = world();
    let burst = || {
        let before = ALLOCATIONS.load(Relaxed);
        (0..CALLS).for_each(|_| one_kernel(&w));
        w.gpu.stream.synchronize().expect("synchronize");
        // Waits until they are resolved.
        let _ = gpuprof::collect();
        ALLOCATIONS.load(Relaxed) - before
    };
    let session = w.session();
    burst();
    let measured = burst();
    let before = ALLOCATIONS.load(Relaxed);
    let _ = gpuprof::collect();
    let of_profile = ALLOCATIONS.load(Relaxed) - before;
    let profile = w.finish(session);
    let function = function(&profile, "one_kernel");
    assert_eq!(
        (function.calls, function.untimed_calls),
        (2 * CALLS as u64, 0)
    );
    let unmeasured = burst();
    println!("{measured} allocations, {unmeasured} unmeasured, {of_profile} of the profile");
    // A few are of the lists of a busy resolver, which grow and are kept.
    assert!(measured < unmeasured + of_profile + CALLS / 20);
}
