use gpuprof::gpu_profile;

#[gpu_profile]
#[gpuprof::gpu_profile(cpu)]
fn twice() {}

#[gpu_profile]
#[gpu_profile]
mod block {}

fn main() {
    twice();
}
