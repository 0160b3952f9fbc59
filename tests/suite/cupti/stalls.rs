//! Promise: with `GPUPROF_STALLS=on` the profile says for what the warps of each kernel waited, and
//! at which source lines; what was not sampled is counted.

use cudarc::driver::{CudaFunction, CudaSlice, DevicePtr, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;
use gpuprof::profile::{KernelStalls, StallReasonSamples, Stalls};
use gpuprof::{Profile, Session, gpu_profile};
use simcupti::{Instruction, StallModel};
use support::cupti_world::{Tier, builder, tier, tier_with};
use support::sampled_world::{KERNEL_NS, with_counters};
use support::suite::Module;
use support::{Gpu, tests, until};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        a_kernel_has_its_reasons_and_lines,
        a_module_that_was_loaded_before_has_no_lines,
        dropped_and_other_samples_are_counted,
        samples_of_a_context_that_is_destroyed_are_kept,
        a_reset_begins_again,
        a_part_of_the_program_has_its_samples_alone,
        a_context_at_the_address_of_another_is_sampled,
        samples_of_an_unloaded_module_are_its,
        lines_of_double_precision_are_known_by_the_code,
    ]],
);

const FILE: &str = "kernels/cuda/saxpy.cu";

/// DFMA, F2F.F64.F32 and an instruction that does nothing, without a line.
fn code() -> [Instruction<'static>; 4] {
    let at = |word, line| Instruction {
        word,
        line: Some((FILE, line)),
    };
    [
        at([0x0000_0018_120c_722b, 0x0000_0000_0000_010c], 7),
        at([0x0000_0012_0012_7310, 0x020e_a400_0020_1800], 7),
        at([0x0000_0000_0000_7918, 0x000f_c000_0000_0000], 9),
        Instruction {
            word: [0x0000_0000_0000_7918, 0x000f_c000_0000_0000],
            line: None,
        },
    ]
}

/// 45 samples in each launch.
pub(crate) fn samples() -> [StallModel<'static>; 4] {
    let of = |offset, reason, samples| StallModel {
        offset,
        reason,
        samples,
        not_issued: true,
    };
    [
        of(0, "long_scoreboard", 25),
        of(16, "selected", 5),
        of(32, "long_scoreboard", 8),
        of(48, "wait", 7),
    ]
}

#[gpu_profile(name = "launches", stream = t.gpu.stream)]
pub(crate) fn launches(t: &Tier, kernel: &Kernel, times: u32) {
    let (n, a) = (1_u32, 1.0_f32);
    for _ in 0..times {
        let mut launch = t.gpu.stream.launch_builder(&kernel.function);
        launch
            .arg(&n)
            .arg(&a)
            .arg(&kernel.buffer)
            .arg(&kernel.buffer);
        // SAFETY: these are saxpy's parameters, and the buffer holds one number.
        unsafe { launch.launch(LaunchConfig::for_num_elems(1)) }.expect("launch");
    }
}

/// Loads the kernel again, with the code of this test.
pub(crate) fn load(t: &Tier) -> Kernel {
    t.cupti.set_code(kernels::SAXPY, &code());
    let module = t.gpu.context.load_module(Ptx::from_src(kernels::SAXPY_PTX));
    let module = module.expect("the device takes it");
    let memory = t.gpu.stream.alloc_zeros::<f32>(1).expect("memory");
    let address = memory.device_ptr(&t.gpu.stream).0;
    t.synchronize();
    Kernel {
        function: module.load_function(kernels::SAXPY).expect("it has it"),
        buffer: address,
        _memory: memory,
    }
}

pub(crate) struct Kernel {
    function: CudaFunction,
    buffer: u64,
    _memory: CudaSlice<f32>,
}

pub(crate) fn session(t: &Tier) -> Session {
    t.cpu(1_000);
    builder()
        .stalls(true)
        .start()
        .expect("no other session is open")
}

/// Launches one kernel, and waits until the context is sampled; later launches have samples.
pub(crate) fn begin(t: &Tier, kernel: &Kernel) {
    launches(t, kernel, 1);
    t.synchronize();
    let is_sampled = || t.cupti.calls("cuptiPCSamplingSetConfigurationAttribute") > 0;
    until(|| is_sampled() && t.cupti.calls("cuptiPCSamplingGetData") > 0);
    t.cupti.set_stalls(kernels::SAXPY, &samples());
}

fn reasons(of: &[StallReasonSamples]) -> Vec<(&str, u64)> {
    of.iter()
        .map(|of| (of.reason.as_str(), of.samples))
        .collect()
}

pub(crate) fn stalls(profile: &Profile) -> &Stalls {
    profile.stalls.as_ref().expect("it was sampled")
}

pub(crate) fn only_kernel(profile: &Profile) -> &KernelStalls {
    let [kernel] = &stalls(profile).kernels[..] else {
        panic!("one kernel: {:?}", stalls(profile).kernels)
    };
    kernel
}

fn a_kernel_has_its_reasons_and_lines() {
    let t = tier();
    let session = session(&t);
    let kernel = load(&t);
    begin(&t, &kernel);
    launches(&t, &kernel, 3);
    t.synchronize();
    let profile = t.finish(session);
    let stalls = stalls(&profile);
    assert_eq!((stalls.period_cycles, stalls.samples), (1 << 12, 135));
    assert_eq!((stalls.dropped_samples, stalls.other_samples), (0, 0));
    assert!(stalls.sampled_ns > 0 && stalls.start_ns > 0);
    let kernel = only_kernel(&profile);
    assert_eq!(kernel.name, profile.kernels[0].name);
    assert_eq!((kernel.samples, kernel.samples_without_line), (135, 21));
    let all = [("long_scoreboard", 99), ("wait", 21), ("selected", 15)];
    assert_eq!(reasons(&kernel.reasons), all);
    let [first, second] = &kernel.lines[..] else {
        panic!("two lines: {:?}", kernel.lines)
    };
    assert_eq!(
        (first.file.as_str(), first.line, first.samples),
        (FILE, 7, 90)
    );
    assert_eq!(
        reasons(&first.reasons),
        [("long_scoreboard", 75), ("selected", 15)]
    );
    assert_eq!((second.line, second.samples), (9, 24));
    let [instruction] = &kernel.instructions[..] else {
        panic!("one without a line: {:?}", kernel.instructions)
    };
    assert_eq!((instruction.offset, instruction.samples), (48, 21));
    assert_eq!(reasons(&instruction.reasons), [("wait", 21)]);
    assert_eq!(profile.diagnostics.notes, [""; 0]);
}

fn a_module_that_was_loaded_before_has_no_lines() {
    let t = tier();
    let kernel = load(&t);
    let session = session(&t);
    begin(&t, &kernel);
    launches(&t, &kernel, 1);
    let profile = t.finish(session);
    let kernel = only_kernel(&profile);
    assert_eq!((kernel.samples, kernel.samples_without_line), (45, 45));
    assert!(kernel.lines.is_empty());
    let offsets: Vec<u64> = kernel.instructions.iter().map(|of| of.offset).collect();
    assert_eq!(offsets, [0, 32, 48, 16]);
}

fn dropped_and_other_samples_are_counted() {
    let t = tier();
    let session = session(&t);
    let kernel = load(&t);
    begin(&t, &kernel);
    t.cupti.set_dropped_samples(11);
    t.cupti.set_other_samples(13);
    launches(&t, &kernel, 1);
    let profile = t.finish(session);
    let stalls = stalls(&profile);
    assert_eq!((stalls.dropped_samples, stalls.other_samples), (11, 13));
    assert_eq!(stalls.samples, 45);
}

fn samples_of_a_context_that_is_destroyed_are_kept() {
    let t = tier_with(2);
    let session = session(&t);
    let other = Gpu::new(t.sim, 1);
    other.kernel(1_000);
    until(|| t.cupti.calls("cuptiPCSamplingSetConfigurationAttribute") > 0);
    t.cupti.set_stalls(kernels::SAXPY, &samples());
    other.kernel(1_000);
    other.kernel(1_000);
    other.context.synchronize().expect("synchronize");
    drop(other);
    assert_eq!(t.cupti.calls("cuptiPCSamplingDisable"), 1);
    let profile = t.finish(session);
    assert_eq!(only_kernel(&profile).samples, 90);
    assert_eq!(profile.diagnostics.notes, [""; 0]);
}

fn a_reset_begins_again() {
    let t = tier();
    let session = session(&t);
    let kernel = load(&t);
    begin(&t, &kernel);
    launches(&t, &kernel, 4);
    t.synchronize();
    gpuprof::reset();
    launches(&t, &kernel, 1);
    let profile = t.finish(session);
    assert_eq!(only_kernel(&profile).samples, 45);
}

fn a_part_of_the_program_has_its_samples_alone() {
    let t = tier();
    let kernel = load(&t);
    let outer = session(&t);
    begin(&t, &kernel);
    launches(&t, &kernel, 4);
    t.synchronize();
    t.finish(outer);
    // No session is open.
    launches(&t, &kernel, 5);
    t.synchronize();
    let session = session(&t);
    launches(&t, &kernel, 2);
    let profile = t.finish(session);
    assert_eq!(only_kernel(&profile).samples, 90);
}

fn a_context_at_the_address_of_another_is_sampled() {
    let t = tier_with(2);
    t.sim.reuse_handles(true);
    let session = session(&t);
    for times in [1, 2] {
        let other = Gpu::new(t.sim, 1);
        t.cupti.set_stalls(kernels::SAXPY, &samples());
        (0..times).for_each(|_| other.kernel(1_000));
        other.context.synchronize().expect("synchronize");
        drop(other);
    }
    assert_eq!(t.cupti.calls("cuptiPCSamplingDisable"), 2);
    let profile = t.finish(session);
    assert_eq!(only_kernel(&profile).samples, 135);
    assert_eq!(profile.diagnostics.notes, [""; 0]);
}

fn samples_of_an_unloaded_module_are_its() {
    let t = tier();
    let session = session(&t);
    let kernel = load(&t);
    begin(&t, &kernel);
    launches(&t, &kernel, 2);
    t.synchronize();
    let reads = t.cupti.calls("cuptiPCSamplingGetData");
    drop(kernel);
    assert!(
        t.cupti.calls("cuptiPCSamplingGetData") > reads,
        "inside the call"
    );
    let profile = t.finish(session);
    let kernel = only_kernel(&profile);
    assert_eq!((kernel.samples, kernel.lines.len()), (90, 2));
}

fn lines_of_double_precision_are_known_by_the_code() {
    let t = with_counters(tier());
    t.cpu(1_000);
    let session = builder().counters(true).start().expect("no other session");
    let kernel = load(&t);
    t.sim.set_kernel_ns(kernels::SAXPY, KERNEL_NS);
    for _ in 0..3 {
        launches(&t, &kernel, 1);
        t.synchronize();
    }
    let profile = t.finish(session);
    let [line] = &profile.double_lines[..] else {
        panic!("one line: {:?}", profile.double_lines)
    };
    assert_eq!(line.kernel, profile.kernels[0].name);
    assert_eq!(
        (line.file.as_str(), line.line, line.instructions),
        (FILE, 7, 2)
    );
    assert_eq!(line.names, ["DFMA", "F2F.F64.F32"]);
}
