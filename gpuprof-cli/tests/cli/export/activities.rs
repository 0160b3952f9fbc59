//! What is in the tables of copies, CUDA calls, memory and steps.

use serde_json::json;

use super::{Job, profile, row};

#[test]
fn copies_cuda_calls_and_memory_are_those_of_the_process_and_of_its_functions() {
    let job = Job::new();
    let totals = json!({"allocations": 3, "allocated_bytes": 48, "frees": 1, "freed_bytes": 16});
    let copies = json!({"kind": "HtoD", "device": 1, "calls": 2, "total_ns": 30, "min_ns": 10,
        "max_ns": 20, "p50_ns": 10, "p99_ns": 20, "bytes": 4_096, "pageable_calls": 1,
        "pageable_ns": 20, "blocking_calls": 1, "exposed_ns": 5});
    let memset = json!({"kind": "memset", "device": 0, "calls": 0});
    let api = json!({"name": "cuLaunchKernel", "kind": "launch", "calls": 7, "total_ns": 70,
        "min_ns": 9, "max_ns": 11, "p50_ns": 10, "p99_ns": 11, "failed": 1});
    let mut uses = totals.clone();
    let of_device = json!({"kind": "device", "device": 0, "live_allocations": 2, "live_bytes": 32,
        "peak_bytes": 40, "peak_function": "step"});
    for (key, value) in of_device.as_object().expect("an object") {
        uses[key] = value.clone();
    }
    let of_function = json!({"kind": "device", "inclusive": totals, "exclusive": totals,
        "live_allocations": 2, "live_bytes": 32, "peak_growth_bytes": 24});
    let mut rich = profile(2);
    rich["copies"] = json!([copies, memset]);
    rich["api"] = json!([api]);
    rich["memory"] = json!({"uses": [uses, {"kind": "pinned"}]});
    rich["functions"][0]["copies"] = json!([copies]);
    rich["functions"][0]["api"] = json!([api]);
    rich["functions"][0]["memory"] = json!([of_function]);
    job.add("2.json", &rich);
    job.export_all(&["--job", "a"]);
    let columns = [
        "kind",
        "device",
        "calls",
        "total_ns",
        "min_ns",
        "max_ns",
        "p50_ns",
        "p99_ns",
        "bytes",
        "pageable_calls",
        "pageable_ns",
        "blocking_calls",
        "exposed_ns",
    ];
    let copied = row!["HtoD", 1, 2, 30, 10, 20, 10, 20, 4_096, 1, 20, 1, 5];
    let none = row!["memset", 0, 0, 0, (), (), (), (), 0, 0, 0, 0, ()];
    let of_step = [copied.clone()];
    assert_eq!(job.cells("copies", "a", &columns), [copied, none]);
    assert_eq!(job.cells("function_copies", "a", &columns), of_step);
    let columns = [
        "api", "kind", "calls", "total_ns", "min_ns", "max_ns", "p50_ns", "p99_ns", "failed",
    ];
    let called = [row!["cuLaunchKernel", "launch", 7, 70, 9, 11, 10, 11, 1]];
    assert_eq!(job.cells("api_calls", "a", &columns), called);
    assert_eq!(job.cells("function_api_calls", "a", &columns), called);
    let columns = [
        "kind",
        "device",
        "allocations",
        "allocated_bytes",
        "frees",
        "freed_bytes",
        "live_allocations",
        "live_bytes",
        "peak_bytes",
        "peak_function",
    ];
    let used = [
        row!["device", 0, 3, 48, 1, 16, 2, 32, 40, "step"],
        row!["pinned", (), 0, 0, 0, 0, 0, 0, 0, ()],
    ];
    assert_eq!(job.cells("memory", "a", &columns), used);
    let columns = [
        "function",
        "namesake",
        "kind",
        "allocations",
        "allocated_bytes",
        "frees",
        "freed_bytes",
        "live_allocations",
        "live_bytes",
        "peak_growth_bytes",
    ];
    let of_step = [row!["step", 0, "device", 3, 48, 1, 16, 2, 32, 24]];
    assert_eq!(job.cells("function_memory", "a", &columns), of_step);
}

#[test]
fn kernels_of_nccl_have_their_collective() {
    let job = Job::new();
    let mut rich = profile(0);
    let symbol = "_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE";
    rich["kernels"] = json!([{"name": "all", "symbol": symbol}, {"name": "k", "symbol": "k"}]);
    job.add("0.json", &rich);
    job.export_all(&["--job", "a"]);
    let expected = [row!["all", "AllReduce"], row!["k", ()]];
    let cells = job.cells("kernels", "a", &["kernel", "collective"]);
    assert_eq!(cells, expected);
}

#[test]
fn windows_of_steps_are_those_of_the_process() {
    let job = Job::new();
    let mut stepped = profile(2);
    let window = |first_step, steps, ns| {
        json!({"first_step": first_step, "steps": steps, "wall_ns": 100 * steps,
            "collectives": steps, "collective_ns": ns})
    };
    stepped["steps"] = json!({"count": 3, "windows": [window(1, 2, 70), window(3, 1, 35)],
        "open_collectives": 1, "open_collective_ns": 9});
    job.add("2.json", &stepped);
    job.export_all(&["--job", "a"]);
    let columns = [
        "rank",
        "first_step",
        "steps",
        "wall_ns",
        "collectives",
        "collective_ns",
    ];
    let rows = [row![2, 1, 2, 200, 2, 70], row![2, 3, 1, 100, 1, 35]];
    assert_eq!(job.cells("step_windows", "a", &columns), rows);
}
