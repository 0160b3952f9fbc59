use gpuprof::gpu_profile;

#[gpu_profile(cpu = true)]
fn with_value() {}

#[gpu_profile(cpu(1))]
fn with_list() {}

#[gpu_profile(cpu, stream = x)]
fn with_stream(x: &u32) {}

#[gpu_profile(sample = 10, cpu)]
fn with_sample() {}

fn main() {}
