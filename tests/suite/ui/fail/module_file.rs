use gpuprof::gpu_profile;

#[gpu_profile]
#[path = "../module_in_its_own_file.rs"]
mod elsewhere;

fn main() {}
