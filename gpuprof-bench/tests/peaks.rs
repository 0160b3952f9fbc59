//! Measured peaks, on the simulated device's virtual clock.

mod common;

use common::{KERNEL_NS, saxpy};
use gpuprof_bench::{bench, peaks};
use gpuprof_report::profile::Precision;

#[test]
fn peaks_are_measured_once_and_told_apart_from_those_by_attributes() {
    let (sim, mut work, _turn) = saxpy();
    sim.set_kernel_ns("gpuprof_copy", 200_000);
    sim.set_kernel_ns("gpuprof_fma_f32", 1_000_000);
    sim.set_kernel_ns("gpuprof_fma_f64", 4_000_000);
    let found = peaks(&work.stream).expect("peaks");
    // Eight times the L2 cache of 4 MiB, read and written.
    assert_eq!(found.copy_bytes_per_s, (2 * 8 * (4 << 20)) as f64 / 200e-6);
    // 40 SMs of 1,024 threads, 8 chains, two operations a multiply-add.
    let flops = f64::from(40 * 1_024 * 8 * 2);
    assert_eq!(found.fma_f32_flops_per_s, flops * 16_384.0 / 1e-3);
    assert_eq!(
        found.fma_flops_per_s(Precision::F64),
        Some(flops * 2_048.0 / 4e-3)
    );
    assert_eq!(found.fma_flops_per_s(Precision::F16Tensor), None);
    let launches = sim.calls("cuLaunchKernel");
    assert_eq!(peaks(&work.stream).as_ref(), Ok(&found));
    assert_eq!(sim.calls("cuLaunchKernel"), launches);

    let stream = work.stream.clone();
    // A quarter of the measured bandwidth.
    let bytes = found.copy_bytes_per_s / 4.0 * KERNEL_NS as f64 / 1e9;
    let results = bench("saxpy")
        .stream(&stream)
        .peaks(&found)
        .bytes(bytes as u64);
    let text = results.run(|| work.launch()).expect("a result").to_string();
    let of_attributes =
        found.copy_bytes_per_s / 4.0 / found.device.peak_bytes_per_s.expect("a peak") as f64;
    assert!(
        text.contains("of measured") && text.contains("25.0 % copy"),
        "{text}"
    );
    assert!(
        text.contains(&format!("{:.1} % mem", of_attributes * 100.0)),
        "{text}"
    );
    assert!(
        text.contains("measured copy bandwidth 335.5 GB/s (104.8 % of 320.1 by its attributes)"),
        "{text}"
    );
}
