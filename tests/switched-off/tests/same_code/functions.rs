//! The source that `same_code.rs` compiles: each function plain, with `--cfg annotated` under the
//! attribute, and with `--cfg touched` with a visible difference.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll};

#[cfg(touched)]
static CALLS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

#[unsafe(no_mangle)]
#[cfg_attr(annotated, gpuprof::gpu_profile)]
pub fn leaf(x: u64) -> u64 {
    #[cfg(touched)]
    CALLS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    x.rotate_left(7) ^ x
}

#[unsafe(no_mangle)]
#[cfg_attr(
    annotated,
    gpuprof::gpu_profile(
        name = "twins/saxpy",
        stream = x,
        bytes = 12 * x.len(),
        flops = 2 * x.len(),
        items = y.len(),
        payload = a,
        color = 0x76B900,
        category = "math",
        sample = 10
    )
)]
pub fn saxpy(a: f32, x: &[f32], y: &mut [f32]) {
    for (x, y) in x.iter().zip(y) {
        *y += a * x;
    }
}

#[unsafe(no_mangle)]
#[cfg_attr(annotated, gpuprof::gpu_profile(cpu))]
pub fn early(values: &[&str]) -> Result<u32, std::num::ParseIntError> {
    let mut sum = 0;
    for value in values {
        sum += value.parse::<u32>()?;
    }
    Ok(sum + values.first().map_or(0, |value| value.len() as u32))
}

#[unsafe(no_mangle)]
#[cfg_attr(annotated, gpuprof::gpu_profile)]
pub fn panics(values: &[u64], at: usize) -> u64 {
    values[at] + 1
}

pub struct Model {
    weight: u64,
}

#[cfg_attr(annotated, gpuprof::gpu_profile(category = "model"))]
impl Model {
    #[unsafe(no_mangle)]
    pub extern "C" fn forward(&mut self, x: u64) -> u64 {
        self.weight += 1;
        self.weight * x
    }
}

#[cfg_attr(annotated, gpuprof::gpu_profile(items = 1))]
fn generic<T: Copy + Into<u64>>(values: &[T]) -> u64 {
    values.iter().map(|&value| value.into()).sum()
}

#[unsafe(no_mangle)]
pub fn of_bytes(values: &[u8]) -> u64 {
    generic(values)
}

#[cfg_attr(annotated, gpuprof::gpu_profile)]
async fn later(x: u64, other: impl Future<Output = u64>) -> u64 {
    x + other.await
}

#[unsafe(no_mangle)]
pub fn polled(x: u64, context: &mut Context<'_>) -> Poll<u64> {
    pin!(later(x, std::future::ready(2))).poll(context)
}

#[unsafe(no_mangle)]
pub fn scoped(values: &[u64]) -> u64 {
    #[cfg(annotated)]
    gpuprof::scope!("twins/scoped");
    values.iter().product()
}

#[unsafe(no_mangle)]
pub fn scoped_with_a_stream(model: &Model, x: u64) -> u64 {
    #[cfg(annotated)]
    gpuprof::scope!("twins/streamed", model);
    model.weight + x
}
