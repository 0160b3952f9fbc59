//! Rules about memory.

use super::*;
use crate::profile::FunctionMemory;

fn allocating(calls: u64) -> Profile {
    let churn = function("infer", 500, 200 * US)
        .kernels([kernel("k", 10, MS)])
        .calls_cuda([
            api("cuMemAllocAsync", "alloc", calls, 60 * US),
            api("cuMemFreeAsync", "free", calls, 100 * US),
        ]);
    let mut profile = program(h200(), [churn], &[]);
    profile.wall_ns = 100 * MS;
    profile
}

#[test]
fn allocations_in_every_call_are_reported() {
    let finding = the("allocation-churn", &allocating(500));
    assert_eq!(
        finding.evidence,
        "80 % of the wall in 1,000 allocations and frees, 2/call, most in cuMemFreeAsync"
    );
    assert_eq!(finding.gain_ns, 80 * MS);
    assert_eq!(
        the("allocation-churn", &allocating(600)).gain_ns,
        90 * MS,
        "idle time"
    );
    assert!(speaks("allocation-churn", &allocating(50)));
    assert!(!speaks("allocation-churn", &allocating(49)), "few");
}

#[test]
fn the_size_of_allocations_is_said_where_it_is_known() {
    let mut profile = allocating(500);
    let mut memory = FunctionMemory::default();
    memory.inclusive.allocations = 500;
    memory.inclusive.allocated_bytes = 500 * 2_000_000;
    profile.functions[0].memory = vec![memory];
    assert_eq!(
        the("allocation-churn", &profile).evidence,
        "80 % of the wall in 1,000 allocations and frees, 2/call of 2.0 MB on average, most in \
         cuMemFreeAsync"
    );
}

#[test]
fn allocations_outside_of_every_function_are_reported_for_the_program() {
    let mut profile = allocating(500);
    profile.functions.clear();
    let finding = the("allocation-churn", &profile);
    assert_eq!((finding.function, finding.gain_ns), (None, 80 * MS));
}

fn product(memset_ns: u64) -> Profile {
    let memsets = copies("memset", 1_000, memset_ns, 4_096);
    let product = function("product", 1_000, 20 * US)
        .kernels([kernel("matmul_tiled", 1_000, 10 * US)])
        .copied([memsets]);
    program(h200(), [product], &[])
}

#[test]
fn memsets_that_rival_the_kernels_are_reported() {
    let finding = the("memsets", &product(4 * US));
    assert_eq!(
        finding.evidence,
        "29 % of its GPU time in memsets: 1,000 memsets beside 1,000 kernels"
    );
    assert!(
        finding
            .advice
            .starts_with("CudaStream::alloc instead of alloc_zeros")
    );
    assert_eq!(finding.gain_ns, 4 * MS);
    assert!(speaks("memsets", &product(2_500)));
    assert!(!speaks("memsets", &product(2_400)), "less than a quarter");
    let mut hidden = product(4 * US);
    hidden.functions[0].activity.copies[0].exposed_ns = Some(MS);
    assert_eq!(the("memsets", &hidden).gain_ns, MS);
    // 1,000 calls of 9 µs on a GPU that is idle for 6 ms between its work.
    let mut queued = product(4 * US);
    queued.functions[0].activity.api = vec![api("cuMemsetD8Async", "memset", 1_000, 9 * US)];
    let idle = BusyRecords {
        kernel_ns: 10 * MS,
        copy_only_ns: 4 * MS,
        idle_launch_ns: 6 * MS,
        ..BusyRecords::default()
    };
    queued.wall_ns = 100 * MS;
    busy_for(&mut queued, idle);
    assert_eq!(the("memsets", &queued).gain_ns, 6 * MS);
}

#[test]
fn memsets_of_a_function_are_compared_with_the_kernels_inside_it() {
    let memsets = copies("memset", 100, 4 * US, 4_096);
    let outer = function("outer", 100, 200 * US).copied([memsets]);
    let nested = |each_ns| {
        let inner = function("inner", 100, each_ns).kernels([kernel("k", 100, each_ns)]);
        let tree = [("outer", None, 100), ("inner", Some(0), 100)];
        let mut profile = program(h200(), [outer.clone(), inner], &tree);
        profile.wall_ns = 20 * MS;
        named("memsets", &profile)
    };
    assert_eq!(nested(16 * US), ["outer"]);
    assert_eq!(nested(17 * US), [""; 0]);
}

fn spilling(local_bytes: u32, registers: u32) -> Profile {
    let kernel = KernelStats {
        local_bytes_per_thread: local_bytes,
        registers,
        ..kernel("sort", 10, 2 * MS)
    };
    one(function("sort", 10, 2 * MS).kernels([kernel]), |_| ())
}

#[test]
fn local_memory_is_reported_if_much_of_a_thread_lives_there() {
    let finding = the("local-memory", &spilling(340, 255));
    assert_eq!(
        finding.evidence,
        "67 % of GPU time: sort uses 340 B local memory per thread"
    );
    assert_eq!(finding.gain_ns, 5 * MS, "340 of 1,360 bytes of 20 ms");
    assert!(speaks("local-memory", &spilling(64, 64)));
    assert!(!speaks("local-memory", &spilling(63, 64)), "sin and cos");
    assert!(!speaks("local-memory", &spilling(100, 255)), "8.9 %");
    assert!(!speaks("local-memory", &spilling(0, 255)));
}
