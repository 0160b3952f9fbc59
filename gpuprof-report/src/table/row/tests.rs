use super::*;
use crate::profile::{PeakRate, SpanStats};

fn device(ordinal: u32, bytes: u64, flops: Option<u64>) -> Device {
    Device {
        ordinal,
        peak_bytes_per_s: Some(bytes),
        peak_flops_f32: flops,
        ..Device::default()
    }
}

fn ran(ordinal: u32, timed_ns: u64, bytes: f64, flops: f64) -> GpuSpanStats {
    GpuSpanStats {
        device: Some(ordinal),
        timed_ns,
        timed_bytes: Some(bytes),
        timed_flops: Some(flops),
        ..GpuSpanStats::default()
    }
}

#[test]
fn the_peak_share_is_the_larger_one() {
    let devices = [device(0, 1_000, Some(4_000))];
    let memory = Figures::of_device(
        &ran(0, 1_000_000_000, 500.0, 400.0),
        Doubt::default(),
        &devices,
        None,
    );
    assert_eq!(memory.peak, Some((0.5, PeakKind::Memory)));
    let arithmetic = Figures::of_device(
        &ran(0, 1_000_000_000, 500.0, 3_000.0),
        Doubt::default(),
        &devices,
        None,
    );
    assert_eq!(
        arithmetic.peak,
        Some((0.75, PeakKind::Arithmetic(Precision::F32)))
    );
}

#[test]
fn a_stated_precision_is_compared_with_its_own_peak() {
    let mut fast = device(0, 1_000, Some(4_000));
    fast.peak_flops = vec![PeakRate::new(Precision::F16Tensor, 60_000)];
    let ran = ran(0, 1_000_000_000, 100.0, 30_000.0);
    let peak = |precision| {
        let devices = std::slice::from_ref(&fast);
        Figures::of_device(&ran, Doubt::default(), devices, Some(precision)).peak
    };
    let tensor = PeakKind::Arithmetic(Precision::F16Tensor);
    assert_eq!(peak(Precision::F16Tensor), Some((0.5, tensor)));
    // This device has no such unit: the share of the bandwidth is left.
    assert_eq!(peak(Precision::F8Tensor), Some((0.1, PeakKind::Memory)));
}

#[test]
fn peaks_of_several_devices_are_weighted_by_the_time_each_ran() {
    let devices = [device(0, 1_000, None), device(1, 3_000, None)];
    let parts = vec![
        ran(0, 1_000_000_000, 0.0, 0.0),
        ran(1, 3_000_000_000, 0.0, 0.0),
    ];
    let gpu = GpuSpanStats {
        timed_ns: 4_000_000_000,
        timed_bytes: Some(5_000.0),
        ..GpuSpanStats::default()
    };
    let row = Figures::of_gpu(&gpu, &parts, &devices, None);
    // 1 s of 1,000 and 3 s of 3,000 bytes per second.
    assert_eq!(row.peak, Some((0.5, PeakKind::Memory)));
    assert_eq!(row.bytes_per_s, Some(1_250.0));
}

#[test]
fn no_share_is_shown_where_a_peak_is_unknown_or_no_time_passed() {
    let unknown = Figures::of_device(
        &ran(7, 1_000, 1.0, 1.0),
        Doubt::default(),
        &[device(0, 1, Some(1))],
        None,
    );
    assert_eq!(unknown.peak, None);
    let instant = Figures::of_device(
        &ran(0, 0, 1.0, 1.0),
        Doubt::default(),
        &[device(0, 1, Some(1))],
        None,
    );
    assert_eq!((instant.peak, instant.bytes_per_s), (None, None));
}

#[test]
fn the_rates_of_a_function_marked_cpu_are_over_cpu_time() {
    let mut function = Function {
        calls: 2,
        cpu_only: true,
        items: Some(10.0),
        cpu: SpanStats {
            total_ns: 2_000_000_000,
            ..SpanStats::default()
        },
        ..Function::default()
    };
    let rates = |function: &Function| {
        let row = Figures::of_function(function, &[]);
        (row.bytes_per_s, row.items_per_s)
    };
    assert_eq!(rates(&function), (None, Some(5.0)));
    function.cpu_only = false;
    assert_eq!(rates(&function), (None, None));
}

#[test]
fn what_is_summed_up_leaves_out_what_does_not_add_up() {
    let function = |gpu: u64, cpu: u64| Function {
        calls: 2,
        cpu: SpanStats {
            total_ns: 9 * cpu,
            self_ns: cpu,
            ..SpanStats::default()
        },
        gpu: Some(GpuSpanStats {
            times: SpanStats {
                total_ns: 9 * gpu,
                self_ns: gpu,
                ..SpanStats::default()
            },
            ..GpuSpanStats::default()
        }),
        ..Function::default()
    };
    let row = Figures::of_others(&[function(3, 5), function(4, 6)]);
    let expected = Figures {
        calls: 4,
        gpu_self: Some(7),
        cpu_self: Some(11),
        ..Figures::default()
    };
    assert_eq!(row, expected);
}

fn named(name: &str, gpu_self: u64, inside: u64, cpu_self: u64, calls: u64) -> Function {
    let times = SpanStats {
        self_ns: gpu_self,
        max_ns: gpu_self,
        ..SpanStats::default()
    };
    Function {
        name: name.into(),
        calls,
        cpu: SpanStats {
            self_ns: cpu_self,
            ..SpanStats::default()
        },
        gpu: (gpu_self > 0).then(|| GpuSpanStats {
            times,
            ..GpuSpanStats::default()
        }),
        gpu_nested_ns: inside,
        ..Function::default()
    }
}

#[test]
fn each_order_has_its_key_and_its_ties() {
    let functions = vec![
        named("d", 0, 0, 3, 9),
        named("c", 0, 0, 3, 1),
        named("b", 0, 7, 1, 2),
        named("a", 5, 0, 2, 3),
        named("never", 0, 0, 0, 0),
    ];
    let profile = Profile {
        functions,
        ..Profile::default()
    };
    let order = |sort| {
        sorted(&profile, sort)
            .iter()
            .map(|f| f.name.as_str())
            .collect::<Vec<_>>()
            .join("")
    };
    assert_eq!(order(Sort::Gpu), "abcd");
    assert_eq!(order(Sort::Cpu), "cdab");
    assert_eq!(order(Sort::Calls), "dabc");
    assert_eq!(order(Sort::Max), "abcd");
    assert_eq!(order(Sort::Name), "abcd");
}
