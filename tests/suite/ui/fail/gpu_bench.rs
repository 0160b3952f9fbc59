//! What is wrong with a benchmark is said at the word that is wrong.

use gpuprof::bench::{Bench, Results};
use gpuprof::gpu_bench;

#[gpu_bench]
fn without_values(bench: Bench, n: usize) -> Results {
    bench.skip(n.to_string())
}

#[gpu_bench(m = [1])]
fn with_a_wrong_name(bench: Bench, n: usize) -> Results {
    bench.skip(n.to_string())
}

#[gpu_bench(args = [1])]
fn with_args_for_two(bench: Bench, n: usize, m: usize) -> Results {
    bench.skip((n + m).to_string())
}

#[gpu_bench(n = [])]
fn with_no_value(bench: Bench, n: usize) -> Results {
    bench.skip(n.to_string())
}

#[gpu_bench(types = [f32])]
fn with_types_for_none(bench: Bench) -> Results {
    bench.skip("")
}

#[gpu_bench]
fn generic<T>(bench: Bench) -> Results {
    bench.skip(std::any::type_name::<T>())
}

#[gpu_bench]
fn without_a_bench() -> Results {
    unreachable!()
}

#[gpu_bench]
async fn later(bench: Bench) -> Results {
    bench.skip("")
}

#[gpu_bench]
struct NoFunction;

fn main() {}
