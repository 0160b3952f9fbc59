//! Rules about kernels.

use super::*;

fn small(change: impl FnOnce(&mut KernelStats)) -> Profile {
    let mut kernel = kernel("small", 10, 400 * US);
    kernel.grid = [33, 3, 1];
    change(&mut kernel);
    one(function("f", 10, 500 * US).kernels([kernel]), |_| ())
}

#[test]
fn a_grid_that_leaves_multiprocessors_empty_is_reported() {
    let text = evidence("underused-gpu", &small(|_| ()));
    assert_eq!(text, "99 blocks for 132 SMs: small, 29 % of GPU time");
    assert!(
        !speaks("underused-gpu", &small(|k| k.shapes = 3)),
        "the time of each shape is not known"
    );
    assert_eq!(
        the("underused-gpu", &small(|_| ())).gain_ns,
        MS,
        "a quarter of 4 ms"
    );
    assert!(
        !speaks("underused-gpu", &small(|k| k.grid = [128, 1, 1])),
        "nearly full"
    );
    assert!(
        !speaks(
            "underused-gpu",
            &small(|k| k.concurrent_ns = Some(2_100 * US))
        ),
        "several at once"
    );
    assert!(
        !speaks("underused-gpu", &small(|k| k.times.mean_ns = 9 * US)),
        "too short"
    );
    assert!(
        !speaks("underused-gpu", &small(|k| k.times.calls = 4)),
        "rare"
    );
    assert!(
        !speaks("underused-gpu", &small(|k| k.times.total_ns = MS)),
        "a small share"
    );
}

/// A kernel of so many blocks of 256 threads. Eight fit on a multiprocessor: 1,056 at once.
fn waves(blocks: u32, change: impl FnOnce(&mut KernelStats)) -> Profile {
    let mut profile = small(|kernel| {
        kernel.grid = [blocks, 1, 1];
        change(kernel);
    });
    profile.wall_ns = 100 * MS;
    profile
}

#[test]
fn a_tail_wave_is_reported_with_the_blocks_that_fit() {
    let profile = waves(1_100, |_| ());
    let finding = the("tail-wave", &profile);
    assert_eq!(
        finding.evidence,
        "1.04 waves: small of 1,100 blocks, 29 % of GPU time, 1,056 fit at once"
    );
    assert_eq!(
        finding.advice,
        "launch a multiple of 1056 blocks, or 1056 that loop over the rest (grid stride)"
    );
    assert_eq!(finding.gain_ns, 1_916_666, "4 ms less 1,100 of 2,112");
    assert!(speaks("tail-wave", &waves(1_689, |_| ())), "1.6 waves");
    assert!(!speaks("tail-wave", &waves(1_690, |_| ())));
    assert!(!speaks("tail-wave", &waves(1_056, |_| ())), "all fit");
    assert!(
        !speaks("tail-wave", &waves(200, |_| ())),
        "less than a wave"
    );
    assert!(
        !speaks("tail-wave", &waves(1_100, |k| k.shapes = 2)),
        "which"
    );
    assert!(!speaks(
        "tail-wave",
        &waves(1_100, |k| k.times.mean_ns = 19 * US)
    ));
    assert!(
        !speaks(
            "tail-wave",
            &waves(1_100, |k| k.concurrent_ns = Some(3 * MS))
        ),
        "others fill it"
    );
}

fn gemm(name: &str, capability: &str) -> Profile {
    let multiply = function("multiply", 10, 8 * MS).kernels([kernel(name, 10, 8 * MS)]);
    let mut profile = one(multiply, |_| ());
    profile.devices[0].compute_capability = capability.into();
    profile
}

#[test]
fn a_library_product_without_tensor_cores_is_reported_where_there_are_some() {
    let finding = the("no-tensor-cores", &gemm("ampere_sgemm_128x64_nn", "9.0"));
    assert_eq!(
        finding.evidence,
        "89 % of GPU time: ampere_sgemm_128x64_nn uses no tensor cores"
    );
    assert!(finding.advice.starts_with("allow TF32"));
    assert_eq!(finding.gain_ns, 70 * MS, "seven eighths");
    let turing = the("no-tensor-cores", &gemm("volta_sgemm_128x64_nn", "7.5"));
    assert!(turing.advice.starts_with("use half precision"));
    for name in [
        "cutlass_80_simt_sgemm_128x64_8x5_nn_align1",
        "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize32x32x8_ffma_aligna4",
    ] {
        assert!(speaks("no-tensor-cores", &gemm(name, "8.6")), "{name}");
    }
}

#[test]
fn a_kernel_that_runs_beside_others_saves_its_share_of_their_time() {
    let mut profile = gemm("ampere_sgemm_128x64_nn", "9.0");
    // Kernels took 90 ms in all, and the device ran some for 45 ms.
    profile.gpu_busy[0].records.as_mut().unwrap().kernel_ns = 45 * MS;
    assert_eq!(the("no-tensor-cores", &profile).gain_ns, 35 * MS);
}

#[test]
fn other_products_are_not_suspected_of_doing_without_tensor_cores() {
    for name in [
        "cutlass_80_tensorop_s1688gemm_128x128_16x5_nn_align4",
        "ampere_s16816gemm_bf16_128x64_ldg8_f2f_tn",
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64",
        "turing_fp16_s1688gemm_fp16_128x128_ldg8_f2f_nn",
        "volta_h884gemm_64x128_ldg8_nn",
        "hmma_sgemm",
        "matmul_tiled",
        "saxpy",
    ] {
        assert!(!speaks("no-tensor-cores", &gemm(name, "9.0")), "{name}");
    }
    let sgemm = "maxwell_sgemm_128x64_nn";
    assert!(
        !speaks("no-tensor-cores", &gemm(sgemm, "6.1")),
        "none there"
    );
    assert!(!speaks("no-tensor-cores", &gemm(sgemm, "")), "not known");
}

#[test]
fn of_the_causes_of_a_kernels_time_the_largest_is_reported() {
    let spilling = |local_bytes| {
        small(|kernel| {
            kernel.local_bytes_per_thread = local_bytes;
            kernel.registers = 64;
        })
    };
    assert_eq!(found(&spilling(64)), [("underused-gpu", "f".into())]);
    assert_eq!(found(&spilling(512)), [("local-memory", "f".into())]);
}
