//! Sweeps of benchmarks.

use gpuprof_report::profile::*;

use super::markup::MARKUP;

pub(crate) fn h200_with_caches() -> Device {
    let mut device = super::h200(0);
    device.l2_bytes = Some(50 << 20);
    device.l1_bytes_per_sm = Some(256 << 10);
    device
}

/// A benchmark in cold calls; its interval is 1 % to either side.
pub(crate) fn result(name: &str, parameters: &[(&str, &str)], median_ns: f64) -> Benchmark {
    let mut result = Benchmark::default();
    result.name = name.into();
    let parameters = parameters.iter();
    result.parameters = parameters
        .map(|(name, value)| Parameter::new(name, value))
        .collect();
    result.mode = "cold".into();
    result.median_ns = median_ns;
    (result.median_low_ns, result.median_high_ns) =
        (Some(median_ns * 0.99), Some(median_ns * 1.01));
    result
}

/// A profile of these, each with a function of its own.
pub(crate) fn of_results(device: Device, results: Vec<Benchmark>) -> Profile {
    let mut profile = Profile::default();
    profile.program = "kernels".into();
    for (index, result) in results.into_iter().enumerate() {
        let mut result = result;
        result.device = device.ordinal;
        result.function = index as u32;
        let mut function = Function::default();
        let parameters = result.parameters.iter();
        let values: Vec<String> = parameters
            .map(|p| format!("{}={}", p.name, p.value))
            .collect();
        function.name = format!("{} {}, {}", result.name, values.join(" "), result.mode);
        function.calls = 100;
        function.precision = result
            .parameters
            .iter()
            .any(|parameter| parameter.value == "f64")
            .then_some(Precision::F64);
        profile.functions.push(function);
        profile.benchmarks.push(result);
    }
    profile.devices = vec![device];
    profile
}

/// Matrix products of four sizes by two kernels, cold and hot, then saxpy of six sizes.
pub(crate) fn sweeps(device: Device) -> Profile {
    let mut results = matmul();
    results.extend(saxpy());
    of_results(device, results)
}

fn matmul() -> Vec<Benchmark> {
    let mut results = Vec::new();
    for (kernel, flops_per_ns) in [("naive", 5_200.0), ("tiled", 14_000.0)] {
        for n in [512_u64, 1024, 2048, 4096] {
            for (mode, factor) in [("cold", 1.0), ("hot", 0.7)] {
                let flops = 2 * n.pow(3);
                let median = factor * (3_000.0 + flops as f64 / flops_per_ns);
                let size = n.to_string();
                let parameters = [("kernel", kernel), ("n", &size), ("type", "f32")];
                let mut result = result("matmul", &parameters, median);
                result.mode = mode.into();
                result.flops = Some(flops);
                result.bytes = Some(3 * 4 * n.pow(2));
                results.push(result);
            }
        }
    }
    results
}

fn saxpy() -> Vec<Benchmark> {
    let sizes = (0..6).map(|step| 1_u64 << (14 + 2 * step));
    let results = sizes.map(|n| {
        let median = 2_100.0 + 12.0 * n as f64 / 4_100.0;
        let mut result = result("saxpy", &[("n", &n.to_string())], median);
        (result.median_low_ns, result.median_high_ns) = (Some(median * 0.8), Some(median * 1.3));
        (result.bytes, result.flops) = (Some(12 * n), Some(2 * n));
        result
    });
    results.collect()
}

/// Eight kernels with long names.
pub(crate) fn many_implementations() -> Profile {
    let mut results = Vec::new();
    for kernel in 0..8_u64 {
        for n in [1000_u64, 3000, 10_000, 30_000, 100_000] {
            for ty in ["f32", "f64"] {
                let name = format!("segmented_reduction_with_warp_shuffles_version_{kernel}");
                let size = n.to_string();
                let parameters = [("kernel", name.as_str()), ("rows", &size), ("type", ty)];
                let width = if ty == "f64" { 8 } else { 4 };
                let bytes = n * width * 1024;
                let median = 4_000.0 + bytes as f64 / (600.0 + 450.0 * kernel as f64);
                let mut result = result(
                    "a_benchmark_of_reductions_over_the_segments_of_a_sparse_matrix_in_csr_format",
                    &parameters,
                    median,
                );
                result.bytes = Some(bytes);
                result.flops = Some(n * 1024);
                results.push(result);
            }
        }
    }
    of_results(h200_with_caches(), results)
}

/// The sweeps with [`MARKUP`] before every text but the numbers.
pub(crate) fn hostile_sweeps() -> Profile {
    let mut device = h200_with_caches();
    device.name.insert_str(0, MARKUP);
    let mut profile = sweeps(device);
    for result in &mut profile.benchmarks {
        result.name.insert_str(0, MARKUP);
        result.mode.insert_str(0, MARKUP);
        for parameter in &mut result.parameters {
            parameter.name.insert_str(0, MARKUP);
            if parameter.value.parse::<f64>().is_err() {
                parameter.value.insert_str(0, MARKUP);
            }
        }
    }
    profile
}
