use gpuprof::gpu_profile;

struct Layer {
    weights: Vec<u32>,
}

impl Layer {
    #[gpu_profile(args(self.weights.len(), layer = self))]
    fn no_debug(&self) {}
}

#[gpu_profile(args(x))]
fn no_debug_of_any<T>(x: T) -> T {
    x
}

#[gpu_profile(args(x))]
async fn no_debug_later(x: Layer) -> usize {
    x.weights.len()
}

#[gpu_profile(args(f))]
fn closure(f: impl Fn(u32) -> u32) -> u32 {
    f(1)
}

fn sum(x: Vec<u32>) -> u32 {
    x.iter().sum()
}

#[gpu_profile(cpu, args(sum(x)))]
fn moves(x: Vec<u32>) {}

#[gpu_profile(cpu, args(x.pop()))]
fn changes(x: &mut Vec<u32>) {
    x.clear();
}

#[gpu_profile(args(missing))]
fn not_in_scope() {}

fn main() {}
