use gpuprof::gpu_profile;

#[gpu_profile(graph)]
fn alone() {}

#[gpu_profile(graph = true, cpu)]
fn with_others() {}

#[gpu_profile(graph)]
mod block {}

fn main() {}
