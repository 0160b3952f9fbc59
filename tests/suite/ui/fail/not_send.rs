use gpuprof::gpu_profile;
use std::rc::Rc;

#[gpu_profile]
async fn work(shared: Rc<u32>, n: u32) -> u32 {
    std::future::ready(()).await;
    *shared + n
}

#[gpu_profile]
async fn kept_across_an_await(n: u32) -> u32 {
    let shared = Rc::new(n);
    std::future::ready(()).await;
    *shared
}

fn spawn<F: Future + Send>(_: F) {}

fn main() {
    spawn(work(Rc::new(1), 2));
    spawn(kept_across_an_await(2));
}
