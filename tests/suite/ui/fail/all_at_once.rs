use gpuprof::gpu_profile;

/// Every mistake is a message of its own; the function still exists, so its callers add none.
#[gpu_profile(nam = "x", stream = [], color = "red", cpu, category = "", sample = 0)]
const fn documented(x: u32) -> u32 {
    x
}

fn main() {
    let _ = documented(1);
}
