use gpuprof::gpu_profile;

#[gpu_profile("conv", cpu)]
fn no_name() {}

#[gpu_profile(name = "a" cpu, sample = 0)]
fn no_comma() {}

#[gpu_profile(name = , cpu = , stream =)]
fn no_value() {}

#[gpu_profile(bytes = 1 +, sample = 0)]
fn half_an_expression() {}

#[gpu_profile(cpu true, color = 0xFFFFFFF)]
fn no_equals() {}

fn main() {}
