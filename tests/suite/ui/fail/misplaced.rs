use gpuprof::gpu_profile;

#[gpu_profile]
struct Net;

#[gpu_profile]
enum Kind {}

#[gpu_profile]
use std::fmt;

#[gpu_profile]
const LIMIT: u32 = { 3 };

#[gpu_profile]
static NAME: &str = "x";

#[gpu_profile]
type Alias = u32;

#[gpu_profile(smaple = 3)]
trait Layer {
    #[gpu_profile]
    fn forward(&self);

    #[gpu_profile(skip)]
    fn backward(&self) {}
}

#[gpu_profile]
extern "C" {
    fn abs(x: i32) -> i32;
}

#[gpu_profile]
macro_rules! empty {
    () => {};
}

fn main() {
    let _: (Option<Net>, Option<Kind>, Option<fmt::Error>, Alias) = (None, None, None, LIMIT);
    let _ = NAME;
}
