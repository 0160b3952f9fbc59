//! Every form of a benchmark.

use gpuprof::bench::{Bench, BenchError, Results};
use gpuprof::gpu_bench;

#[gpu_bench]
fn plain(bench: Bench) -> Results {
    bench.skip("")
}

#[gpu_bench(name = "another name", args = [1 << 10, 1 << 20])]
fn with_args(mut bench: Bench, n: usize) -> Result<Results, BenchError> {
    let _stream = bench.own_stream()?;
    Ok(bench.skip(n.to_string()))
}

#[gpu_bench(types = [f32, Vec<u8>], n = [1, 2], text = ["a", "b"])]
fn generic<T: Default>(bench: Bench, n: u32, text: &'static str) -> Results {
    let _ = T::default();
    bench.skip(format!("{n} {text}"))
}

fn main() {}
