use gpuprof::gpu_profile;

#[gpu_profile(bytes, flops(1), items, payload)]
fn no_values() {}

#[gpu_profile(bytes = 'x')]
fn no_amount() {}

#[gpu_profile(payload = 'x')]
fn no_payload() {}

#[gpu_profile(items = missing.len())]
fn not_in_scope() {}

fn main() {}
