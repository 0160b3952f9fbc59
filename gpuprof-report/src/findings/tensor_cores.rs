//! The rule about matrix products that use no tensor cores.

use super::candidate::FindingCandidate;
use super::profile_facts::ProfileFacts;
use super::profile_index::scaled;
use super::rule::FindingCheck;
use super::thresholds::{
    KERNEL_CALLS, MIN_TENSOR_ACTIVITY, TENSOR_CAPABILITY, TENSOR_SPEEDUP, TF32_CAPABILITY,
};
use super::wording;
use crate::peak_shares::own_samples;
use crate::profile::{KernelStats, Metric};

/// In the names of all matrix products of cuBLAS and CUTLASS.
const PRODUCT: &str = "gemm";

/// In the names of matrix products of cuBLAS and CUTLASS that compute without tensor cores.
const PRODUCTS: [&str; 4] = ["sgemm", "hgemm", "simt", "ffma"];

/// In the names of those that compute with them; stronger than the names above, except `ffma`.
const TENSOR_PRODUCTS: [&str; 15] = [
    "tensorop", "hmma", "imma", "gmma", "xmma", "s884", "h884", "s1688", "h1688", "s16816",
    "h16816", "tf32", "bf16", "mma_", "i16832",
];

pub(super) fn unused(rule: &FindingCheck, facts: &ProfileFacts<'_>) -> Vec<FindingCandidate> {
    rule.of_kernels(facts, |_, kernel| {
        let device = facts.device(kernel.device)?;
        let capability: f64 = device.compute_capability.parse().ok()?;
        let applies = TENSOR_CAPABILITY.reached(capability)
            && KERNEL_CALLS.reached(kernel.times.calls as f64)
            && is_product_without_tensor_cores(kernel);
        applies.then(|| {
            let evidence = format!(
                "{} of GPU time: {} uses no tensor cores",
                wording::percent(kernel.times.total_ns, facts.activity_ns),
                wording::kernel_name(kernel),
            );
            let advice = if TF32_CAPABILITY.reached(capability) {
                "allow TF32 (cublasSetMathMode, CUBLAS_TF32_TENSOR_OP_MATH), or use f16 or bf16"
            } else {
                "use half precision (f16) inputs: cublasGemmEx with CUDA_R_16F"
            };
            let gain = scaled(facts.device_ns(kernel), 1.0 - 1.0 / TENSOR_SPEEDUP.0);
            (evidence, advice, gain)
        })
    })
}

fn is_product_without_tensor_cores(kernel: &KernelStats) -> bool {
    let name = format!("{} {}", kernel.symbol, kernel.full_name).to_lowercase();
    let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    let counters = own_samples(kernel.counters.as_deref());
    match counters.and_then(|counters| counters.mean(Metric::TensorActive)) {
        Some(active) => name.contains(PRODUCT) && !MIN_TENSOR_ACTIVITY.reached(active),
        None => has(&PRODUCTS) && (name.contains("ffma") || !has(&TENSOR_PRODUCTS)),
    }
}
