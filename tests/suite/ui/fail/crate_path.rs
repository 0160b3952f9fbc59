use gpuprof::gpu_profile;

#[gpu_profile(crate = "gpuprof")]
fn string() {}

#[gpu_profile(crate)]
fn no_value() {}

#[gpu_profile(crate = gpuprof::<u32>)]
fn generic() {}

#[gpu_profile(crate = not::here)]
fn not_there() {}

fn main() {}
