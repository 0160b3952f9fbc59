//! Programs that were once given wrong advice.

use super::*;

fn states(profile: &mut Profile, bytes: Option<f64>, flops: Option<f64>) {
    profile.functions[0] = profile.functions[0].clone().states(bytes, flops);
}

#[test]
fn a_launch_and_synchronize_loop_with_the_gpu_99_9_percent_busy() {
    let wait = api("cuStreamSynchronize", "sync", 1_000, 1_990 * US);
    let step = function("step", 1_000, 2 * MS)
        .kernels([kernel("k", 1_000, 1_998 * US)])
        .calls_cuda([wait, api("cuLaunchKernel", "launch", 1_000, 4 * US)]);
    let mut profile = program(h200(), [step], &[("step", None, 1_000)]);
    profile.wall_ns = 2 * S;
    assert_eq!(found(&profile), []);
}

#[test]
fn a_hopper_matrix_product_at_18_8_percent_occupancy() {
    let product = KernelStats {
        grid: [132, 1, 1],
        block: [384, 1, 1],
        registers: 168,
        occupancy: Some(0.1875),
        ..kernel(
            "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64",
            100,
            MS,
        )
    };
    let multiply = function("multiply", 100, 1_010 * US).kernels([product]);
    assert_eq!(found(&program(h200(), [multiply], &[])), []);
}

#[test]
fn four_kernels_of_33_blocks_that_run_concurrently() {
    let on_stream = |name: &str| KernelStats {
        grid: [33, 1, 1],
        concurrent_ns: Some(95 * MS / 10),
        ..kernel(name, 10, MS)
    };
    let mut heads = function("heads", 10, 1_100 * US).kernels(["a", "b", "c", "d"].map(on_stream));
    heads.activity.work_streams = 4;
    let mut profile = program(h200(), [heads], &[]);
    busy_for(
        &mut profile,
        BusyRecords {
            kernel_ns: 11 * MS,
            ..BusyRecords::default()
        },
    );
    assert_eq!(found(&profile), []);
    // Of documents without the time of concurrent kernels nothing is known.
    for kernel in &mut profile.kernels {
        kernel.concurrent_ns = None;
    }
    assert_eq!(found(&profile), []);
}

#[test]
fn a_host_that_computes_37_of_40_us_between_launches_is_host_bound() {
    let step = function("step", 100, 400 * US)
        .kernels([kernel("k", 1_000, 2 * US)])
        .calls_cuda([api("cuLaunchKernel", "launch", 1_000, 3 * US)]);
    let profile = program(h200(), [step], &[("step", None, 100)]);
    assert_eq!(found(&profile), [("host-bound", "step".into())]);
    let finding = the("host-bound", &profile);
    assert_eq!(
        finding.evidence,
        "GPU 95 % idle: the host spends 37.0 µs per kernel outside of CUDA calls"
    );
    assert_eq!(finding.gain_ns, 37 * MS);
}

#[test]
fn a_synchronize_after_each_tiny_kernel() {
    let step = function("step", 100, 120 * US)
        .kernels([kernel("k", 1_000, 2 * US)])
        .calls_cuda([
            api("cuLaunchKernel", "launch", 1_000, 4 * US),
            api("cuStreamSynchronize", "sync", 1_000, 8 * US),
        ]);
    let mut profile = program(h200(), [step], &[("step", None, 100)]);
    profile.wall_ns = 20 * MS;
    assert_eq!(found(&profile), [("synchronization", "step".into())]);
    let finding = the("synchronization", &profile);
    assert_eq!(
        finding.evidence,
        "GPU 83 % idle around 1,000 waits, 10/call: cuStreamSynchronize, mean 8.00 µs"
    );
    assert_eq!(finding.gain_ns, 8 * MS);
}

#[test]
fn saxpy_at_91_percent_of_the_bandwidth_with_only_flops_stated() {
    // 201 MB in 46 µs are 4.38 TB/s; its flops are 1 % of the peak.
    let saxpy = function("saxpy", 100, 47 * US).kernels([kernel("saxpy", 100, 46 * US)]);
    let mut profile = program(h200(), [saxpy], &[]);
    states(&mut profile, None, Some(33_550_000.0));
    assert_eq!(found(&profile), []);
    states(&mut profile, Some(201_300_000.0), Some(33_550_000.0));
    assert_eq!(found(&profile), []);
}

#[test]
fn an_n_body_step_with_only_bytes_stated() {
    let step = function("n_body", 100, 400 * US).kernels([kernel("n_body", 100, 399 * US)]);
    let mut profile = program(h200(), [step], &[]);
    states(&mut profile, Some(1_000_000.0), None);
    assert_eq!(found(&profile), []);
    states(&mut profile, Some(1_000_000.0), Some(10e9));
    assert_eq!(found(&profile), []);
}

#[test]
fn an_uncoalesced_product_beside_a_coalesced_one() {
    let product = |name: &str, each: u64| {
        function(name, 10, each)
            .kernels([kernel(name, 10, each)])
            .states(Some(12_600_000.0), Some(2.147e9))
    };
    let functions = [product("by_column", MS), product("by_row", 250 * US)];
    let profile = program(h200(), functions, &[]);
    assert_eq!(found(&profile), [("below-roofline", "by_column".into())]);
    let text = evidence("below-roofline", &profile);
    assert_eq!(
        text,
        "0.3 % of the bandwidth, 3.2 % of the f32 peak: its kernels take 80 % of GPU time"
    );
}
