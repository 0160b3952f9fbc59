//! Promise: each thread records its own events again, which are in its processor's cache, and few
//! of them.

use std::collections::{HashMap, HashSet};
use std::ffi::{c_int, c_void};
use std::sync::{Barrier, Mutex};
use std::thread::{self, ThreadId};

use cudarc::driver::sys;
use gpuprof::gpu_profile;
use support::suite::Module;
use support::tests;
use support::{World, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        each_thread_records_its_own_events_again,
        the_events_of_a_thread_that_ended_are_used_again,
    ]],
);

#[gpu_profile]
fn on_shared(w: &World) {
    w.gpu.kernel_on(&w.gpu.stream, 1_000);
}

/// A call with a stream, so that what it calls inherits that.
#[gpu_profile(stream = w.gpu.stream)]
fn calls(w: &World, count: u32) {
    (0..count).for_each(|_| on_shared(w));
}

static RECORDED: Mutex<Vec<(ThreadId, usize)>> = Mutex::new(Vec::new());

extern "C" fn record(event: sys::CUevent, stream: sys::CUstream) -> c_int {
    let mut recorded = RECORDED.lock().expect("no panic");
    recorded.push((thread::current().id(), event as usize));
    drop(recorded);
    // SAFETY: passed on from gpuprof, to the driver's function of this name.
    unsafe { sys::cuEventRecord(event, stream) as c_int }
}

fn each_thread_records_its_own_events_again() {
    let w = world();
    let by = |name: &str| match name {
        "cuEventRecord" => record as *const c_void,
        _ => std::ptr::null(),
    };
    // SAFETY: the function has the signature of the driver's of that name.
    assert!(unsafe { gpuprof::__private::replace_driver_functions(by) });
    let session = w.session();
    let turn = Barrier::new(3);
    thread::scope(|scope| {
        let thread = || {
            for _ in 0..10 {
                turn.wait();
                calls(&w, 9);
                turn.wait();
            }
        };
        let threads = [scope.spawn(thread), scope.spawn(thread)];
        for round in 0..10 {
            if round == 2 {
                RECORDED.lock().expect("no panic").clear();
            }
            turn.wait();
            turn.wait();
            w.gpu.stream.synchronize().expect("synchronize");
            drop(gpuprof::collect());
        }
        let ids = threads.each_ref().map(|thread| thread.thread().id());
        let mut events = HashMap::<ThreadId, HashSet<usize>>::new();
        for (thread, event) in RECORDED.lock().expect("no panic").iter() {
            events.entry(*thread).or_default().insert(*event);
        }
        let [first, second] = ids.map(|id| events.remove(&id).expect("it recorded"));
        assert!(first.is_disjoint(&second));
        // Of ten calls that are pending at once, and of as many pairs that were at hand before.
        assert!(first.len() <= 40 && second.len() <= 40);
    });
    drop(w.finish(session));
}

fn the_events_of_a_thread_that_ended_are_used_again() {
    let w = world();
    let session = w.session();
    for _ in 0..40 {
        thread::scope(|scope| {
            scope.spawn(|| {
                calls(&w, 30);
                w.gpu.stream.synchronize().expect("synchronize");
                drop(gpuprof::collect());
            });
        });
    }
    // A thread has 31 calls pending at once.
    let live = w.sim.live_events();
    assert!(live < 10 * 2 * 31, "{live}");
    drop(w.finish(session));
}
