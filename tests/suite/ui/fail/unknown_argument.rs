use gpuprof::gpu_profile;

#[gpu_profile(strem = x)]
fn misspelled(x: &u32) -> &u32 {
    x
}

#[gpu_profile(nmae = "x", colour = 0xFF)]
fn two_misspelled() {}

#[gpu_profile(fields(1))]
fn not_known() {}

#[gpu_profile(bits = 3)]
mod block {}

fn main() {
    misspelled(&1);
    two_misspelled();
    not_known();
}
