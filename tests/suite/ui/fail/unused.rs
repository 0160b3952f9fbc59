#![deny(unused_variables)]

use gpuprof::gpu_profile;

// The compiler reports the parameters that the user's code does not use, and no others.

#[gpu_profile]
fn plain(unused: &u32, mut by_value: Vec<u32>, used: u32, _ignored: u32) -> u32 {
    used
}

#[gpu_profile]
fn pattern((left, right): (u32, u32), format: u32) -> String {
    format!("{left} {format}")
}

#[gpu_profile(cpu)]
fn on_the_cpu(unused: u32) {}

#[gpu_profile(items = n, args(m, k = 2 * l))]
fn in_an_argument(n: u32, m: u32, l: u32, k: u32, #[allow(unused_variables)] allowed: u32) {}

#[gpu_profile(items = n, args(m))]
async fn asynchronous(n: u32, m: u32, unused: String, #[expect(unused_variables)] expected: u32) {}

#[gpu_profile]
async fn asynchronous_pattern((left, right): (u32, u32)) -> u32 {
    left
}

fn main() {}
