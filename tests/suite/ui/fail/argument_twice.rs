use gpuprof::gpu_profile;

#[gpu_profile(name = "a", cpu, name = "b", cpu)]
fn main() {}
