use gpuprof::gpu_profile;

#[gpu_profile]
const fn constant() -> u32 {
    3
}

const THREE: u32 = constant();

fn main() {
    let _ = THREE;
}
