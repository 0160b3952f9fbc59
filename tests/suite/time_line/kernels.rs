//! Promise: with CUPTI, kernels, copies and CUDA calls are on the time line, linked by correlation
//! ids and on the clock of the calls.

use std::path::Path;

use gpuprof::trace::{Activity, ActivityKind, Trace};
use gpuprof::{Output, Session, gpu_profile};
use support::cupti_world::{Tier, builder, tier};
use support::suite::Module;
use support::tests;

use crate::spans::{calls, name};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        a_kernel_is_linked_to_its_launch_and_its_function,
        copies_have_their_size_and_direction,
        what_no_function_launched_is_there_too,
        live_memory_is_a_counter_of_its_device,
        kernels_copies_and_calls_have_the_line_that_launched_them,
        without_stacks_nothing_has_a_line,
    ]],
);

fn recorded(t: &Tier) -> Session {
    t.cpu(1_000);
    let outputs = [Output::Trace("/dev/null".into())];
    let session = builder().outputs(outputs).start();
    session.expect("no other session is open")
}

fn finish(t: &Tier, session: Session) -> Trace {
    t.synchronize();
    t.cpu(1_000);
    let trace = gpuprof::collect_trace().expect("a time line");
    t.finish_unchecked(session);
    trace
}

fn kernel_name<'t>(trace: &'t Trace, activity: &Activity) -> Option<&'t str> {
    match activity.kind {
        ActivityKind::Kernel { name: number, .. } => Some(name(trace, number)),
        _ => None,
    }
}

#[gpu_profile(cpu)]
fn step(t: &Tier) {
    t.cpu(500);
    t.gpu.kernel(7_000);
    t.cpu(100);
}

fn a_kernel_is_linked_to_its_launch_and_its_function() {
    let t = tier();
    t.sim.set_call_ns("cuLaunchKernel", 20);
    let session = recorded(&t);
    step(&t);
    let trace = finish(&t, session);
    let call = calls(&trace, "step")[0];
    let [kernel] = trace.activities[..] else {
        panic!("{:?}", trace.activities);
    };
    assert!(kernel_name(&trace, &kernel).is_some());
    assert_eq!(kernel.end_ns - kernel.start_ns, 7_000);
    assert_eq!(
        kernel.function.map(|function| name(&trace, function)),
        Some("step")
    );
    let launches = trace.api_calls.iter();
    let mut launches = launches.filter(|api| name(&trace, api.name) == "cuLaunchKernel");
    let launch = launches.next().expect("a launch");
    assert_eq!(launch.correlation, kernel.correlation);
    assert_eq!(launch.thread, Some(call.thread));
    // The launch is where it was in the call, and the kernel after the launch began.
    assert_eq!(launch.start_ns - call.start_ns, 500);
    assert_eq!(launch.end_ns - launch.start_ns, 20);
    assert!(kernel.start_ns >= launch.start_ns && kernel.start_ns <= launch.end_ns);
    let stream = &trace.streams[kernel.stream as usize];
    assert!(stream.context.is_some() && !stream.is_of_spans);
    let ActivityKind::Kernel { grid, block, .. } = kernel.kind else {
        panic!("{kernel:?}");
    };
    assert!(grid.into_iter().chain(block).all(|side| side > 0));
}

#[gpu_profile]
fn upload(t: &Tier, data: &[f32]) {
    t.gpu.stream.clone_htod(data).expect("a copy");
}

fn copies_have_their_size_and_direction() {
    let t = tier();
    let session = recorded(&t);
    upload(&t, &[1.0; 1_000]);
    let trace = finish(&t, session);
    let copies = trace.activities.iter().map(|activity| activity.kind);
    let copies: Vec<_> = copies.collect();
    let wanted = ActivityKind::copy(gpuprof::profile::CopyKind::HtoD, 4_000);
    assert!(copies.contains(&wanted), "{copies:?}");
}

fn what_no_function_launched_is_there_too() {
    let t = tier();
    let session = recorded(&t);
    t.gpu.kernel(3_000);
    let trace = finish(&t, session);
    let [kernel] = trace.activities[..] else {
        panic!("{:?}", trace.activities);
    };
    assert_eq!(
        (kernel.function, kernel.end_ns - kernel.start_ns),
        (None, 3_000)
    );
}

#[gpu_profile]
fn allocates(t: &Tier) {
    let large = t.gpu.stream.alloc_zeros::<u8>(3_000).expect("memory");
    t.cpu(2_000);
    drop(large);
}

fn live_memory_is_a_counter_of_its_device() {
    let t = tier();
    t.cpu(1_000);
    let outputs = [Output::Trace("/dev/null".into())];
    let session = builder().memory(true).outputs(outputs).start();
    let session = session.expect("no other session is open");
    let kept = t.gpu.stream.alloc_zeros::<u8>(500).expect("memory");
    t.cpu(1_000);
    allocates(&t);
    let trace = finish(&t, session);
    let [track] = trace.counters.as_slice() else {
        panic!("{:?}", trace.counters);
    };
    assert_eq!(track.name, "live device memory (bytes)");
    assert_eq!(track.device, Some(0));
    let began = calls(&trace, "allocates")[0].start_ns;
    let samples = track.samples.iter();
    let samples: Vec<_> = samples
        .map(|(time, bytes)| (*time as i64 - began as i64, *bytes))
        .collect();
    assert_eq!(samples, [(-1_000, 500.0), (0, 3_500.0), (2_000, 500.0)]);
    drop(kept);
    // Without memory there is no such track.
    let session = recorded(&t);
    allocates(&t);
    assert_eq!(finish(&t, session).counters, []);
}

/// From the folder of the package on.
fn file() -> String {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).file_name();
    let package = package.expect("a folder").to_string_lossy();
    format!("{package}/tests/suite/time_line/kernels.rs")
}

/// The lines of kernels and copies, and of CUDA calls that caused them.
fn lines(stacks: bool) -> (Vec<Option<String>>, Vec<Option<String>>, u32) {
    let t = tier();
    t.cpu(1_000);
    let outputs = [Output::Trace("/dev/null".into())];
    let session = builder().stacks(stacks).outputs(outputs).start();
    let session = session.expect("no other session is open");
    let mut memory = t.gpu.stream.alloc_zeros::<u8>(1).expect("memory");
    t.gpu.stream.memset_zeros(&mut memory).expect("a memset");
    let line = line!() - 1;
    let trace = finish(&t, session);
    // Line tables alone have the paths of some functions only.
    let text = |number: Option<u32>| {
        let name = trace.names[number? as usize].as_str();
        Some(name.replace("time_line::kernels::", ""))
    };
    let of_work = trace.activities.iter().map(|of| text(of.launch_line));
    let launches = trace.api_calls.iter();
    let launches = launches.filter(|call| name(&trace, call.name).starts_with("cuMemset"));
    let of_calls = launches.map(|call| text(call.launch_line));
    (of_work.collect(), of_calls.collect(), line)
}

fn kernels_copies_and_calls_have_the_line_that_launched_them() {
    let (of_work, of_calls, line) = lines(true);
    let caller = "kernels_copies_and_calls_have_the_line_that_launched_them";
    let called = line!() - 2;
    let file = file();
    let place = |line| format!("lines at {file}:{line} ← {caller} at {file}:{called}");
    let expected = [Some(place(line - 1)), Some(place(line))];
    assert_eq!(of_work, expected);
    assert_eq!(of_calls, expected);
}

fn without_stacks_nothing_has_a_line() {
    let (of_work, of_calls, _) = lines(false);
    assert_eq!((of_work, of_calls), (vec![None; 2], vec![None; 2]));
}
