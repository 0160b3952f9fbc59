//! Promise: each finding about GPU work is reported for a program that has the problem, and not for
//! one that does it right.
//!
//! The thresholds are tested on hand-made profiles in gpuprof-report; here whole programs run,
//! through the attribute, on the simulated device and its libcupti.

use std::sync::Arc;

use cudarc::driver::{
    CudaFunction, CudaSlice, CudaStream, LaunchConfig, PinnedHostSlice, PushKernelArg,
};
use cudarc::nvrtc::Ptx;
use gpuprof::{Profile, gpu_profile};
use support::cupti_world::{Tier, tier, work};
use support::report_text::full_report;
use support::suite::Module;
use support::tests;

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        pageable_copies_and_pieces_on_one_stream,
        pieces_of_calls_that_take_turns_on_streams,
        kernels_of_one_block_alone_and_beside_each_other,
        stated_work_against_the_peaks,
        calls_that_take_far_longer_than_others,
        kernels_that_nobody_claims,
        the_report_ends_with_what_to_run_next,
    ]],
);

pub(super) const US: u64 = 1_000;
pub(super) const MS: u64 = 1_000_000;

/// The functions that a rule names, without their modules; an empty name for the whole program.
pub(super) fn named<'a>(profile: &'a Profile, rule: &str) -> Vec<&'a str> {
    let findings = profile.findings.iter();
    findings
        .filter(|finding| finding.rule.as_str() == rule)
        .map(|finding| finding.function.as_deref().unwrap_or_default())
        .map(|name| name.rsplit("::").next().unwrap_or_default())
        .collect()
}

/// A session in which the program runs.
pub(super) fn profile(t: &Tier, program: impl FnOnce()) -> Profile {
    let session = t.session();
    program();
    t.finish(session)
}

pub(super) fn nobody() -> Vec<&'static str> {
    Vec::new()
}

/// Ten kernels, and what the host does before each.
#[gpu_profile]
pub(super) fn step(t: &Tier, stream: &Arc<CudaStream>, kernel_ns: u64, host_ns: u64) {
    for _ in 0..10 {
        t.cpu(host_ns);
        t.gpu.kernel_on(stream, kernel_ns);
    }
}

#[gpu_profile]
pub(super) fn solve(t: &Tier, stream: &Arc<CudaStream>, host_ns: u64, waits: bool) {
    t.cpu(host_ns);
    t.gpu.kernel_on(stream, 100 * US);
    if waits {
        stream.synchronize().expect("synchronize");
    }
}

pub(super) const LEN: usize = 1 << 18;

#[gpu_profile]
fn from_pageable(stream: &Arc<CudaStream>, from: &[f32], to: &mut CudaSlice<f32>) {
    stream.memcpy_htod(from, to).expect("copy");
}

#[gpu_profile]
fn from_page_locked(
    stream: &Arc<CudaStream>,
    from: &PinnedHostSlice<f32>,
    to: &mut CudaSlice<f32>,
) {
    stream.memcpy_htod(from, to).expect("copy");
}

/// Copies pieces to the device and computes them, on these streams in turn.
#[gpu_profile(stream = [streams[0], streams[1]])]
fn pieces(
    t: &Tier,
    streams: &[Arc<CudaStream>; 2],
    from: &PinnedHostSlice<f32>,
    to: &mut CudaSlice<f32>,
) {
    for piece in 0..8 {
        from_page_locked(&streams[piece % 2], from, to);
        t.gpu.kernel_on(&streams[piece % 2], 100 * US);
    }
}

fn pageable_copies_and_pieces_on_one_stream() {
    let t = tier();
    t.sim.set_kernel_ns("memcpy", 40 * US);
    let stream = &t.gpu.stream;
    let other = t.gpu.another_stream();
    let pageable = vec![1.0_f32; LEN];
    // SAFETY: filled just below.
    let page_locked = unsafe { t.gpu.context.alloc_pinned::<f32>(LEN) };
    let mut page_locked = page_locked.expect("memory");
    page_locked.as_mut_slice().expect("host memory").fill(1.0);
    let mut to = stream.alloc_zeros::<f32>(LEN).expect("memory");
    t.synchronize();

    let copied = profile(&t, || {
        for _ in 0..10 {
            from_pageable(stream, &pageable, &mut to);
            solve(&t, stream, 0, false);
        }
    });
    assert_eq!(named(&copied, "host-copies"), ["from_pageable"]);

    let mut in_pieces = |streams: [&Arc<CudaStream>; 2]| {
        let streams = streams.map(Arc::clone);
        profile(&t, || pieces(&t, &streams, &page_locked, &mut to))
    };
    let one = in_pieces([stream, stream]);
    assert_eq!(named(&one, "one-stream"), ["pieces"]);
    assert_eq!(named(&one, "host-copies"), nobody());
    assert_eq!(named(&in_pieces([stream, &other]), "one-stream"), nobody());
    t.sim.set_kernel_ns("memcpy", 0);
}

fn pieces_of_calls_that_take_turns_on_streams() {
    let t = tier();
    t.sim.set_kernel_ns("memcpy", 40 * US);
    let streams = [Arc::clone(&t.gpu.stream), t.gpu.another_stream()];
    let mut memory = [(); 2].map(|()| {
        // SAFETY: filled just below.
        let from = unsafe { t.gpu.context.alloc_pinned::<f32>(LEN) };
        let mut from = from.expect("memory");
        from.as_mut_slice().expect("host memory").fill(1.0);
        (from, t.gpu.stream.alloc_zeros::<f32>(LEN).expect("memory"))
    });
    t.synchronize();
    let mut turns = |after_each: &dyn Fn()| {
        let run = profile(&t, || {
            for call in 0..4 {
                let stream = &streams[call % 2];
                let (from, to) = &mut memory[call % 2];
                pieces(&t, &[stream, stream].map(Arc::clone), from, to);
                after_each();
            }
        });
        let copies = &work(&run, "from_page_locked").copies[0];
        assert_eq!(copies.times.total_ns, 4 * 8 * 40 * US);
        assert_eq!(work(&run, "pieces").work_streams, 1);
        (copies.exposed_ns, named(&run, "one-stream").len())
    };
    // Each call's first copy starts during a kernel of the call before, so only the very first copy
    // is exposed.
    assert_eq!(turns(&|| t.cpu(70 * US)), (Some(40 * US), 0));
    // Each call starts after the one before has ended, so nothing overlaps on any stream.
    assert_eq!(turns(&|| t.synchronize()), (Some(4 * 8 * 40 * US), 1));
    t.sim.set_kernel_ns("memcpy", 0);
}

/// Four kernels, on these streams in turn.
#[gpu_profile(stream = [streams[0], streams[1]])]
fn heads(t: &Tier, streams: &[Arc<CudaStream>; 2]) {
    for head in 0..4 {
        t.gpu.kernel_on(&streams[head % 2], 50 * US);
    }
}

fn kernels_of_one_block_alone_and_beside_each_other() {
    let t = tier();
    // The kernel of these tests has one block of a device of forty multiprocessors.
    let solves = |times| {
        profile(&t, || {
            for _ in 0..times {
                solve(&t, &t.gpu.stream, 0, false);
            }
        })
    };
    assert_eq!(named(&solves(5), "underused-gpu"), ["solve"]);
    assert_eq!(named(&solves(4), "underused-gpu"), nobody());
    let on = |streams: [&Arc<CudaStream>; 2]| {
        let streams = streams.map(Arc::clone);
        profile(&t, || {
            for _ in 0..5 {
                heads(&t, &streams);
                t.synchronize();
            }
        })
    };
    let one = on([&t.gpu.stream, &t.gpu.stream]);
    assert_eq!(named(&one, "serial-kernels"), ["heads"]);
    assert_eq!(named(&one, "underused-gpu"), nobody());
    let two = on([&t.gpu.stream, &t.gpu.another_stream()]);
    assert_eq!(named(&two, "serial-kernels"), nobody());
    assert_eq!(named(&two, "underused-gpu"), nobody());
}

/// A kernel that fills the device, and its parameters.
struct Wide {
    function: CudaFunction,
    memory: [CudaSlice<f32>; 2],
}

impl Wide {
    fn new(t: &Tier) -> Self {
        let source = Ptx::from_src(kernels::SAXPY_PTX);
        let module = t.gpu.context.load_module(source).expect("module");
        let zeros = || t.gpu.stream.alloc_zeros(1).expect("memory");
        Self {
            function: module.load_function(kernels::SAXPY).expect("kernel"),
            memory: [zeros(), zeros()],
        }
    }

    /// States this work for a kernel of 100 µs.
    #[gpu_profile(bytes = bytes, flops = flops)]
    fn rated(&mut self, t: &Tier, stream: &Arc<CudaStream>, bytes: u64, flops: u64) {
        t.sim.set_kernel_ns(kernels::SAXPY, 100 * US);
        let [x, y] = &mut self.memory;
        let mut launch = stream.launch_builder(&self.function);
        launch.arg(&1_u32).arg(&1.0_f32).arg(x).arg(y);
        // SAFETY: these are saxpy's parameters, and both buffers hold one element.
        unsafe { launch.launch(LaunchConfig::for_num_elems(100_000)) }.expect("launch");
    }
}

fn stated_work_against_the_peaks() {
    let t = tier();
    let mut wide = Wide::new(&t);
    t.synchronize();
    let mut stating = |bytes, flops| {
        let run = profile(&t, || {
            for _ in 0..10 {
                wide.rated(&t, &t.gpu.stream, bytes, flops);
                t.synchronize();
            }
        });
        named(&run, "below-roofline").len()
    };
    // 100 µs at the simulated device's peaks: 32 MB, 814 MFLOP in single and 25.4 MFLOP in double
    // precision.
    assert_eq!(stating(1_000_000, 10_000_000), 1);
    assert_eq!(stating(1_000_000, 25_000_000), 0, "double precision");
    assert_eq!(stating(20_000_000, 200_000_000), 0);
}

fn calls_that_take_far_longer_than_others() {
    let t = tier();
    let calls = |slow_ns| {
        profile(&t, || {
            for call in 0..200 {
                step(
                    &t,
                    &t.gpu.stream,
                    if call % 20 == 0 { slow_ns } else { 10 * US },
                    0,
                );
                t.synchronize();
            }
        })
    };
    assert_eq!(named(&calls(200 * US), "wide-spread"), ["step"]);
    assert_eq!(named(&calls(20 * US), "wide-spread"), nobody());
}

fn kernels_that_nobody_claims() {
    let t = tier();
    let with = |outside| {
        profile(&t, || {
            solve(&t, &t.gpu.stream, 0, false);
            for _ in 0..outside {
                t.gpu.kernel(100 * US);
            }
        })
    };
    assert_eq!(named(&with(10), "outside"), [""]);
    assert_eq!(named(&with(0), "outside"), nobody());
}

fn the_report_ends_with_what_to_run_next() {
    let t = tier();
    let run = profile(&t, || solve(&t, &t.gpu.stream, 0, false));
    let lines: Vec<&str> = run.commands.iter().map(|command| &*command.line).collect();
    let [ncu, nsys] = lines[..] else {
        panic!("{lines:?}");
    };
    let range = if cfg!(feature = "nvtx") {
        " --nvtx --nvtx-include gpuprof@findings::solve/"
    } else {
        ""
    };
    let begin = format!("GPUPROF=nvtx ncu{range} --kernel-name saxpy --launch-count 1 --set full ");
    assert!(ncu.starts_with(&begin), "{ncu}");
    assert!(
        nsys.starts_with("GPUPROF=nvtx nsys profile -t cuda,nvtx -o report "),
        "{nsys}"
    );
    let report = full_report(&run);
    assert!(report.contains(&format!("\n  {ncu}\n")), "{report}");
    assert!(!run.to_string().contains(ncu), "{run}");
}
