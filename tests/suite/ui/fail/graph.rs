use gpuprof::gpu_profile;

#[gpu_profile(graph = true)]
fn with_value() {}

#[gpu_profile(graph, cpu)]
fn with_cpu() {}

#[gpu_profile(stream = [a, b], graph)]
fn with_several(a: &u32, b: &u32) {}

#[gpu_profile(graph)]
async fn later() {}

#[gpu_profile(graph)]
fn boxed() -> std::pin::Pin<Box<dyn Future<Output = ()>>> {
    Box::pin(async move {})
}

#[gpu_profile(grahp)]
mod block {}

fn main() {}
