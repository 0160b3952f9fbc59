use gpuprof::gpu_profile;

#[gpu_profile(skip)]
fn outside() {}

#[gpu_profile(skip = true, cpu)]
fn with_more() {}

#[gpu_profile]
mod block {
    #[gpu_profile(skip)]
    pub struct Nothing;

    use gpuprof::gpu_profile;
}

fn main() {
    outside();
    with_more();
    let _ = block::Nothing;
}
