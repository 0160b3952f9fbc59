use gpuprof::gpu_profile;

#[gpu_profile(name = 3, category = path::to)]
fn no_strings() {}

#[gpu_profile(name, category("x"))]
fn no_values() {}

#[gpu_profile(name = "", category = " ")]
fn empty() {}

#[gpu_profile(name = "a\0b", category = "\0")]
fn with_nul() {}

#[gpu_profile(name = b"bytes", category = concat!("a", "b"))]
fn other_literals() {}

fn main() {}
