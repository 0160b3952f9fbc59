use gpuprof::gpu_profile;

#[gpu_profile(stream)]
fn no_value() {}

#[gpu_profile(stream = [])]
fn none() {}

#[gpu_profile(stream = x)]
fn has_none(x: u32) {}

#[gpu_profile(stream = [y.len(), x])]
fn both_have_none(x: u32, y: &str) {}

fn main() {}
