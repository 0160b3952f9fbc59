use gpuprof::gpu_profile;

#[gpu_profile]
#[path = "../elsewhere.rs"]
mod elsewhere;

fn main() {}
