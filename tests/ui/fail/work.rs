use gpuprof::gpu_profile;

#[gpu_profile(bytes, flops(1), items, payload)]
fn no_values() {}

#[gpu_profile(bytes = "many")]
fn no_amount() {}

#[gpu_profile(payload = "text")]
fn no_payload() {}

#[gpu_profile(items = missing.len())]
fn not_in_scope() {}

fn main() {}
