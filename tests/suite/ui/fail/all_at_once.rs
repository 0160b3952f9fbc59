use gpuprof::gpu_profile;

/// Every mistake is a message of its own, and the function is there all the same: its callers add none.
#[gpu_profile(nam = "x", stream = [], color = "red", cpu, category = "", sample = 0)]
const fn documented(x: u32) -> u32 {
    x
}

fn main() {
    let _ = documented(1);
}
