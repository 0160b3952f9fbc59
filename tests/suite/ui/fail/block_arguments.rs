use gpuprof::gpu_profile;

#[gpu_profile(name = "x", bytes = 1, flops = 1, items = 1, payload = 1)]
mod block {
    pub fn inside() {}
}

struct Net;

#[gpu_profile(name = "net", sample = 10)]
impl Net {
    #[gpu_profile(skip)]
    fn skipped(&self) {}

    #[gpu_profile(skip, cpu)]
    fn not_alone(&self) {}
}

fn main() {
    block::inside();
    Net.skipped();
    Net.not_alone();
}
