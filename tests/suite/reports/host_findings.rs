//! Promise: each finding about the host is reported for a program that has the problem, and not for
//! one that does it right.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use cudarc::nvrtc::Ptx;
use gpuprof::profile::FindingRule;
use gpuprof::{CuptiMode, gpu_profile};
use support::cupti_world::{Tier, builder, tier};
use support::suite::Module;
use support::tests;

use super::findings::{LEN, MS, US, named, nobody, profile, solve, step};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        tiny_kernels_that_wait_for_their_launches,
        a_wait_in_the_function_that_launches,
        a_gpu_that_waits_for_host_code_outside_of_every_function,
        many_blocking_copies_of_four_bytes,
        memory_that_is_allocated_and_cleared_in_every_call,
        a_module_that_is_loaded_in_every_call,
        a_first_call_that_takes_far_longer,
    ]],
);

/// Ten kernels with short waits, and a file that is read.
#[gpu_profile]
fn step_and_read(t: &Tier, stream: &Arc<CudaStream>) {
    step(t, stream, 2 * US, 0);
    t.cpu(100 * MS);
}

fn tiny_kernels_that_wait_for_their_launches() {
    let t = tier();
    let steps = |kernel_ns, launch_ns, host_ns| {
        t.sim.set_call_ns("cuLaunchKernel", launch_ns);
        let run = profile(&t, || {
            for _ in 0..30 {
                step(&t, &t.gpu.stream, kernel_ns, host_ns);
                t.synchronize();
            }
        });
        t.sim.set_call_ns("cuLaunchKernel", 0);
        run
    };
    let bound = steps(2 * US, 6 * US, 0);
    assert_eq!(named(&bound, "launch-bound"), ["step"]);
    let finding = bound
        .findings
        .iter()
        .find(|f| f.rule == FindingRule::LaunchBound);
    let finding = finding.expect("just seen");
    assert_eq!(
        finding.evidence,
        "GPU 68 % idle: 10 launches/call, median kernel 2.00 µs"
    );
    assert_eq!(named(&steps(5 * US, US, 0), "launch-bound"), nobody());
    let computing = steps(2 * US, US, 6 * US);
    assert_eq!(named(&computing, "host-bound"), ["step"]);
    assert_eq!(named(&computing, "launch-bound"), nobody());
    let reads = profile(&t, || {
        for _ in 0..30 {
            step_and_read(&t, &t.gpu.stream);
        }
    });
    assert_eq!(named(&reads, "launch-bound"), nobody());
    assert_eq!(named(&reads, "host-bound"), ["step_and_read"]);
}

#[gpu_profile(cpu)]
fn wait(stream: &Arc<CudaStream>) {
    stream.synchronize().expect("synchronize");
}

fn a_wait_in_the_function_that_launches() {
    let t = tier();
    let rounds = |host_ns, waits| {
        profile(&t, || {
            for _ in 0..20 {
                solve(&t, &t.gpu.stream, host_ns, waits);
            }
            wait(&t.gpu.stream);
        })
    };
    let starved = rounds(50 * US, true);
    assert_eq!(named(&starved, "synchronization"), ["solve"]);
    let gains = starved.findings.iter().map(|finding| finding.gain_ns);
    assert!(
        gains.clone().any(|gain| gain == 19 * 50 * US),
        "{:?}",
        gains.collect::<Vec<_>>()
    );
    assert_eq!(named(&rounds(50 * US, false), "synchronization"), nobody());
    // The GPU is never idle: the wait costs nothing.
    assert_eq!(named(&rounds(0, true), "synchronization"), nobody());
}

fn a_gpu_that_waits_for_host_code_outside_of_every_function() {
    let t = tier();
    let rounds = |host_ns| {
        profile(&t, || {
            for _ in 0..20 {
                solve(&t, &t.gpu.stream, 0, false);
                t.synchronize();
                t.cpu(host_ns);
            }
        })
    };
    let idle = rounds(300 * US);
    assert_eq!(named(&idle, "gpu-idle"), [""]);
    let finding = &idle.findings[0];
    let waits = ": 71 % waiting for the host";
    assert!(finding.evidence.contains(waits), "{}", finding.evidence);
    assert_eq!(finding.gain_ns, 19 * 300 * US);
    assert_eq!(named(&rounds(50 * US), "gpu-idle"), nobody());
}

/// A kernel, and one number of its result.
#[gpu_profile]
fn read(t: &Tier, stream: &Arc<CudaStream>, from: &CudaSlice<f32>) -> f32 {
    t.gpu.kernel_on(stream, 2 * US);
    let mut number = [0.0];
    stream.memcpy_dtoh(from, &mut number).expect("copy");
    number[0]
}

fn many_blocking_copies_of_four_bytes() {
    let t = tier();
    let stream = &t.gpu.stream;
    let from = stream.alloc_zeros::<f32>(1).expect("memory");
    let reads = |times| {
        t.sim.set_call_ns("cuMemcpyDtoHAsync_v2", 12 * US);
        let run = profile(&t, || {
            for _ in 0..times {
                read(&t, stream, &from);
            }
        });
        t.sim.set_call_ns("cuMemcpyDtoHAsync_v2", 0);
        run
    };
    let run = reads(200);
    assert_eq!(named(&run, "small-copies"), ["read"]);
    let evidence = &run.findings[0].evidence;
    assert!(
        evidence.contains("200 blocking copies of 4 B"),
        "{evidence}"
    );
    assert_eq!(named(&reads(99), "small-copies"), nobody());
}

/// A kernel, and memory of its own.
#[gpu_profile]
fn with_memory(t: &Tier, stream: &Arc<CudaStream>, cleared: bool) {
    let memory = if cleared {
        stream.alloc_zeros::<f32>(LEN)
    } else {
        // SAFETY: nothing reads it.
        unsafe { stream.alloc::<f32>(LEN) }
    };
    t.gpu.kernel_on(stream, 10 * US);
    drop(memory.expect("memory"));
}

fn memory_that_is_allocated_and_cleared_in_every_call() {
    let t = tier();
    let calls = |alloc_ns, cleared| {
        t.sim.set_call_ns("cuMemAllocAsync", alloc_ns);
        t.sim.set_kernel_ns("memset", 6 * US);
        t.cpu(US);
        let session = builder().cupti(CuptiMode::Full).start().expect("session");
        for _ in 0..100 {
            with_memory(&t, &t.gpu.stream, cleared);
        }
        let run = t.finish(session);
        t.sim.set_call_ns("cuMemAllocAsync", 0);
        t.sim.set_kernel_ns("memset", 0);
        run
    };
    let churn = calls(40 * US, false);
    assert_eq!(named(&churn, "allocation-churn"), ["with_memory"]);
    assert_eq!(named(&churn, "memsets"), nobody());
    let cleared = calls(0, true);
    assert_eq!(named(&cleared, "memsets"), ["with_memory"]);
    assert_eq!(named(&cleared, "allocation-churn"), nobody());
}

#[gpu_profile]
fn with_module(t: &Tier, stream: &Arc<CudaStream>, loads: bool) {
    if loads {
        let source = Ptx::from_src(kernels::SAXPY_PTX);
        t.gpu.context.load_module(source).expect("module");
    }
    t.gpu.kernel_on(stream, 100 * US);
    t.synchronize();
}

fn a_module_that_is_loaded_in_every_call() {
    let t = tier();
    t.sim.set_call_ns("cuModuleLoadData", MS);
    let calls = |loads| {
        profile(&t, || {
            for _ in 0..10 {
                with_module(&t, &t.gpu.stream, loads);
            }
        })
    };
    assert_eq!(named(&calls(true), "module-loads"), ["with_module"]);
    assert_eq!(named(&calls(false), "module-loads"), nobody());
    t.sim.set_call_ns("cuModuleLoadData", 0);
}

#[gpu_profile]
fn starts_slowly(t: &Tier, stream: &Arc<CudaStream>, host_ns: u64) {
    t.cpu(host_ns);
    t.gpu.kernel_on(stream, 10 * US);
}

#[gpu_profile]
fn starts_at_once(t: &Tier, stream: &Arc<CudaStream>) {
    t.cpu(MS);
    t.gpu.kernel_on(stream, 10 * US);
}

fn a_first_call_that_takes_far_longer() {
    let t = tier();
    let run = profile(&t, || {
        for call in 0..20 {
            starts_slowly(&t, &t.gpu.stream, if call == 0 { 50 * MS } else { MS });
            starts_at_once(&t, &t.gpu.stream);
        }
    });
    assert_eq!(named(&run, "first-call"), ["starts_slowly"]);
}
