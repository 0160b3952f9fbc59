use gpuprof::gpu_profile;

#[gpu_profile(color = 0x1000000, sample = 0)]
fn out_of_range() {}

#[gpu_profile(color = "red", sample = 1.5)]
fn no_integers() {}

#[gpu_profile(color = -1, sample = 4294967296)]
fn too_small_and_too_large() {}

#[gpu_profile(color, sample)]
fn no_values() {}

fn main() {}
