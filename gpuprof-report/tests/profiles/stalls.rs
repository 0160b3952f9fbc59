//! Samples of program counters.

use gpuprof_report::profile::*;

fn reasons(of: &[(&str, u64)]) -> Vec<StallReasonSamples> {
    let reason = |(reason, samples): &(&str, u64)| {
        let mut of = StallReasonSamples::default();
        (of.reason, of.samples) = ((*reason).to_owned(), *samples);
        of
    };
    of.iter().map(reason).collect()
}

fn kernel(name: &str, of: &[(&str, u64)]) -> KernelStalls {
    let mut kernel = KernelStalls::default();
    name.clone_into(&mut kernel.name);
    kernel.samples = of.iter().map(|(_, samples)| samples).sum();
    kernel.reasons = reasons(of);
    kernel
}

pub(crate) fn stall_line(file: &str, line: u32, of: &[(&str, u64)]) -> StallLine {
    let mut at = StallLine::default();
    (at.file, at.line) = (file.to_owned(), line);
    at.samples = of.iter().map(|(_, samples)| samples).sum();
    at.reasons = reasons(of);
    at
}

/// Of the three slowest kernels the first has source lines, the second none, and the third too few
/// samples.
pub(crate) fn with_stalls(mut profile: Profile) -> Profile {
    let names: Vec<String> = (profile.kernels.iter())
        .map(|kernel| kernel.name.clone())
        .collect();
    let [first, second, third, ..] = &names[..] else {
        panic!("three kernels: {names:?}");
    };
    let of_first = [
        ("long_scoreboard", 6_200),
        ("selected", 1_500),
        ("barrier", 1_200),
        ("wait", 500),
        ("not_selected", 500),
        ("of_a_newer_chip", 100),
    ];
    let mut with_lines = kernel(first, &of_first);
    let file = "/home/me/digits/kernels/adam.cu";
    with_lines.lines = vec![
        stall_line(file, 41, &[("long_scoreboard", 5_500), ("selected", 500)]),
        stall_line(file, 47, &[("barrier", 1_200), ("selected", 100)]),
        stall_line(file, 39, &[("selected", 900), ("wait", 300)]),
    ];
    with_lines.samples_without_line = 500;
    let mut without_lines = kernel(second, &[("math_pipe_throttle", 800), ("selected", 200)]);
    without_lines.samples_without_line = 1_000;
    let mut instruction = StallInstruction::default();
    (instruction.offset, instruction.samples) = (0x1a0, 700);
    instruction.reasons = reasons(&[("math_pipe_throttle", 700)]);
    without_lines.instructions = vec![instruction];
    let few = kernel(third, &[("drain", 99)]);
    let mut stalls = Stalls::default();
    (stalls.period_cycles, stalls.sampled_ns) = (4_096, 1_250_000_000);
    (stalls.start_ns, stalls.samples) = (310_000_000, 11_099);
    (stalls.other_samples, stalls.dropped_samples) = (37, 2_784);
    stalls.kernels = vec![with_lines, without_lines, few];
    profile.stalls = Some(stalls);
    let mut double = DoubleLine::default();
    (double.kernel, double.line) = (first.clone(), 41);
    file.clone_into(&mut double.file);
    (double.instructions, double.names) = (2, vec!["DFMA".into(), "F2F.F64.F32".into()]);
    profile.double_lines = vec![double];
    profile
}

/// A source for the kernel with lines, whose comments a page must not interpret.
pub(crate) fn kernel_source() -> String {
    let mut text = "// one line of many\n".repeat(30);
    text.push_str(super::MARKUP);
    text.push_str(
        "
// Adam, after Kingma and Ba (2015), </script><img src=x onerror=\"window.broken=1\">
extern \"C\" __global__ void adam_step(float *weights, float *mean, float *variance,
                                     const float *gradients, int len, float rate) {
\tint i = blockIdx.x * blockDim.x + threadIdx.x;
\tif (i >= len)
\t\treturn;

\tfloat g = gradients[i];
\tmean[i] = 0.9f * mean[i] + 0.1f * g;
\tvariance[i] = 0.999 * variance[i] + 0.001 * g * g;

\tfloat step = rate * mean[i] / (sqrtf(variance[i]) + 1e-8f);
\tweights[i] -= step;
\t__shared__ float norms[256];
\tnorms[threadIdx.x] = step * step;
\t__syncthreads();
}
",
    );
    text
}

/// Has the lines be those of another file.
pub(crate) fn set_source_file(profile: &mut Profile, file: &std::path::Path) {
    let file = file.to_string_lossy();
    let stalls = profile
        .stalls
        .iter_mut()
        .flat_map(|stalls| &mut stalls.kernels);
    for line in stalls.flat_map(|kernel| &mut kernel.lines) {
        file.as_ref().clone_into(&mut line.file);
    }
    for line in &mut profile.double_lines {
        file.as_ref().clone_into(&mut line.file);
    }
}
