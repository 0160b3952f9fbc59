use gpuprof::gpu_profile;

// The compiler's own messages point at the user's code, as if there were no attribute.

#[gpu_profile]
fn wrong_type() -> u32 {
    "text"
}

#[gpu_profile]
async fn wrong_async_type() -> u32 {
    "text"
}

#[gpu_profile]
fn moved_twice(x: String) -> (String, String) {
    (x, x)
}

#[gpu_profile]
fn unknown_name() {
    missing();
}

fn main() {}
