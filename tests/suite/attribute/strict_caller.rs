//! Promise: the code that the attribute and `scope!` generate triggers no lint in a caller that
//! denies all of them.
//!
//! The test is `cargo clippy` over this target; running it shows that the functions still work.

#![forbid(unsafe_code)]
#![deny(
    warnings,
    missing_docs,
    missing_debug_implementations,
    unused_qualifications,
    unused_results,
    let_underscore_drop,
    single_use_lifetimes,
    trivial_casts,
    elided_lifetimes_in_paths,
    explicit_outlives_requirements,
    clippy::all,
    clippy::pedantic,
    clippy::nursery
)]

use std::fmt::Display;

use gpuprof::{gpu_profile, scope};
use support::suite::Module;
use support::tests;

#[expect(
    clippy::redundant_pub_crate,
    reason = "rustc asks for a restricted item"
)]
pub(crate) const MODULE: Module =
    Module::new(module_path!(), &[tests![strict_callers_compile_and_run,]]);

/// Its items come first in the body, its parameters are of every kind.
#[gpu_profile(
    bytes = 4 * x.len(),
    flops = (2 * 3),
    payload = 7,
    name = "strict/free",
    args(x.len(), *text, x, all = (x, text))
)]
fn free(x: &[f32], _ignored: u32, text: &str) -> usize {
    use std::cmp::max;
    const ONE: usize = 1;
    max(ONE, x.len() + text.len())
}

#[gpu_profile(args(x.to_string(), f(1)))]
fn generic<T: Display>(x: &T, f: &dyn Fn(u32) -> u32) -> String {
    format!("{x}{}", f(1))
}

#[gpu_profile]
fn fallible(x: &str) -> Result<i32, std::num::ParseIntError> {
    let value: i32 = x.parse()?;
    Ok(value)
}

#[gpu_profile]
fn diverges(x: &str) -> ! {
    panic!("{x}")
}

#[gpu_profile(items = x.len(), args(x, x.len()))]
async fn later(x: &str) -> usize {
    std::future::ready(x.len()).await
}

#[gpu_profile]
async fn later_forever() -> ! {
    loop {
        std::future::pending::<()>().await;
    }
}

#[gpu_profile]
async fn later_fallible(x: &str) -> Result<i32, std::num::ParseIntError> {
    let value: i32 = std::future::ready(x).await.parse()?;
    Ok(value)
}

#[gpu_profile]
fn future(x: u32) -> impl Future<Output = u32> {
    async move { std::future::ready(x).await }
}

#[gpu_profile]
fn boxed<'a>(x: &'a str) -> std::pin::Pin<Box<dyn Future<Output = usize> + Send + 'a>> {
    Box::pin(async move { std::future::ready(x.len()).await })
}

trait Step {
    fn step(&self) -> u32;
}

/// A block of functions.
#[gpu_profile(cpu)]
mod block {
    impl super::Step for u32 {
        fn step(&self) -> Self {
            add_one(*self)
        }
    }

    /// With its own documentation.
    fn add_one(x: u32) -> u32 {
        x + 1
    }
}

#[derive(Debug, Default)]
struct Net {
    weight: u32,
}

#[gpu_profile]
impl Net {
    fn forward(&self, x: u32) -> u32 {
        self.weight + x
    }

    fn update(&mut self, (a, _b): (u32, u32)) {
        self.weight += a;
    }
}

fn scoped() -> u32 {
    scope!("strict/scope");
    let x = 1;
    scope!("strict/inner");
    x
}

fn strict_callers_compile_and_run() {
    assert_eq!(free(&[1.0], 1, "ab"), 3);
    assert_eq!(generic(&1, &|x| x), "11");
    assert_eq!(fallible("1"), Ok(1));
    assert!(std::panic::catch_unwind(|| diverges("wanted")).is_err());
    let mut net = Net::default();
    net.update((1, 2));
    assert_eq!(net.forward(1.step()), 3);
    assert_eq!(scoped(), 1);
    drop((
        later("a"),
        later_forever(),
        later_fallible("1"),
        future(1),
        boxed("a"),
    ));
}
