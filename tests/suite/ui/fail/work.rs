use gpuprof::gpu_profile;

#[gpu_profile(bytes, flops(1), items, payload)]
fn no_values() {}

#[gpu_profile(bytes = 'x')]
fn no_amount() {}

#[gpu_profile(flops = 2 * n * name)]
fn no_amount_in_a_product(n: u32, name: &str) {}

#[gpu_profile(payload = 'x')]
fn no_payload() {}

#[gpu_profile(items = missing.len())]
fn not_in_scope() {}

#[gpu_profile(bytes = -1, flops = 2.0 * (n - -3), items = n)]
fn negative(n: u32) {}

#[gpu_profile(bytes: 12, items = 3)]
fn colon() {}

#[gpu_profile(bytes = n?, flops = 2 * n.checked_mul(2)?, payload = return, stream = s.await)]
fn leaves(n: Option<u32>) {}

#[gpu_profile(flops = 1, precision = "f16")]
fn precision_in_quotes() {}

#[gpu_profile(flops = 1, precision = half)]
fn unknown_precision() {}

#[gpu_profile(precision = f16_tensor)]
fn precision_of_nothing() {}

fn main() {}
