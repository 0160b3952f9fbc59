use gpuprof::gpu_profile;

fn main() {
    let closure = #[gpu_profile]
    || 1;
    #[gpu_profile]
    let other = || 1;
    #[gpu_profile]
    for _ in 0..3 {
        closure();
    }
    #[gpu_profile]
    {
        other();
    }
}
