//! What one row of the table shows, worked out from the profile and not yet turned into digits.

use std::cmp::{Ordering, Reverse};

use super::Sort;
use super::qualifiers::Doubt;
use crate::profile::{Device, Function, GpuSpanStats, Profile};

/// Which of a device's peaks a share is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    /// Memory bandwidth.
    Memory,
    /// Single-precision arithmetic.
    Arithmetic,
}

/// One row. `None` is a figure that does not exist or does not add up. Times in ns, rates per
/// second.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Figures {
    pub(super) calls: u64,
    /// Calls in progress; `None` if there are none.
    pub(super) open_calls: Option<u64>,
    /// Their time so far.
    pub(super) open_ns: Option<u64>,
    /// What is to be said of the GPU sums.
    pub(super) doubt: Doubt,
    pub(super) gpu_self: Option<u64>,
    pub(super) gpu_total: Option<u64>,
    /// GPU time of the spans inside, where the function has no stream of its own.
    pub(super) gpu_inside: Option<u64>,
    /// Time during which the GPU ran something of the function, as CUPTI saw it.
    pub(super) gpu_busy: Option<u64>,
    pub(super) gpu_avg: Option<u64>,
    pub(super) gpu_p50: Option<u64>,
    pub(super) gpu_p95: Option<u64>,
    pub(super) gpu_max: Option<u64>,
    pub(super) cpu_total: Option<u64>,
    pub(super) cpu_self: Option<u64>,
    pub(super) cpu_avg: Option<u64>,
    pub(super) bytes_per_s: Option<f64>,
    pub(super) flops_per_s: Option<f64>,
    pub(super) items_per_s: Option<f64>,
    /// The larger of the bandwidth share and the arithmetic share, 1 being the peak.
    pub(super) peak: Option<(f64, Limit)>,
}

impl Figures {
    /// The row of a whole function.
    pub(super) fn of_function(function: &Function, devices: &[Device]) -> Self {
        let cpu = &function.cpu;
        let mut row = function.gpu.as_ref().map_or_else(Self::default, |gpu| {
            Self::of_gpu(gpu, function.gpu_on_each_device(), devices)
        });
        row.calls = function.calls;
        row.open_calls = (function.open_calls > 0).then_some(function.open_calls);
        row.open_ns = row.open_calls.map(|_| function.open_ns);
        row.doubt = Doubt::of(function);
        row.gpu_inside =
            (!function.has_stream && function.gpu_nested_ns > 0).then_some(function.gpu_nested_ns);
        row.gpu_busy = function.activity.busy_ns;
        // Replays, which may be all that ran in a window, have no time on the CPU.
        let called = function.calls > 0;
        row.cpu_total = called.then_some(cpu.total_ns);
        row.cpu_self = called.then_some(cpu.self_ns);
        row.cpu_avg = called.then_some(cpu.mean_ns);
        if function.cpu_only && function.gpu.is_none() {
            row.bytes_per_s = per_second(function.bytes, cpu.total_ns);
            row.flops_per_s = per_second(function.flops, cpu.total_ns);
            row.items_per_s = per_second(function.items, cpu.total_ns);
        }
        row
    }

    /// The row of the part that one device ran: GPU figures only, the calls being the timed ones.
    pub(super) fn of_device(part: &GpuSpanStats, doubt: Doubt, devices: &[Device]) -> Self {
        Self {
            calls: part.timed_calls,
            doubt,
            ..Self::of_gpu(part, std::slice::from_ref(part), devices)
        }
    }

    /// The row that sums up functions: calls and self times, as totals of nested functions do not
    /// add up.
    pub(super) fn of_others<'a>(functions: impl IntoIterator<Item = &'a Function>) -> Self {
        let mut row = Self::default();
        for function in functions {
            row.calls = row.calls.saturating_add(function.calls);
            if function.open_calls > 0 {
                let calls = row.open_calls.unwrap_or(0);
                row.open_calls = Some(calls.saturating_add(function.open_calls));
            }
            row.cpu_self = Some(
                row.cpu_self
                    .unwrap_or(0)
                    .saturating_add(function.cpu.self_ns),
            );
            if let Some(gpu) = &function.gpu {
                row.gpu_self = Some(row.gpu_self.unwrap_or(0).saturating_add(gpu.times.self_ns));
                row.doubt = row.doubt.and(Doubt::of(function));
            }
        }
        row
    }

    fn of_gpu(gpu: &GpuSpanStats, parts: &[GpuSpanStats], devices: &[Device]) -> Self {
        let times = &gpu.times;
        let per_s = |work| per_second(work, gpu.timed_ns);
        let memory = share(gpu.timed_bytes, parts, devices, |device| {
            device.peak_bytes_per_s
        });
        let arithmetic = share(gpu.timed_flops, parts, devices, |device| {
            device.peak_flops_f32
        });
        Self {
            gpu_self: Some(times.self_ns),
            gpu_total: Some(times.total_ns),
            gpu_avg: Some(times.mean_ns),
            gpu_p50: Some(times.p50_ns),
            gpu_p95: Some(times.p95_ns),
            gpu_max: Some(times.max_ns),
            bytes_per_s: per_s(gpu.timed_bytes),
            flops_per_s: per_s(gpu.timed_flops),
            items_per_s: per_s(gpu.timed_items),
            peak: match (memory, arithmetic) {
                (Some(memory), Some(arithmetic)) if arithmetic > memory => {
                    Some((arithmetic, Limit::Arithmetic))
                }
                (Some(memory), _) => Some((memory, Limit::Memory)),
                (None, arithmetic) => arithmetic.map(|share| (share, Limit::Arithmetic)),
            },
            ..Self::default()
        }
    }
}

/// `None` if no work is stated or no time passed.
pub(super) fn per_second(work: Option<f64>, ns: u64) -> Option<f64> {
    work.map(|work| work / (ns as f64 / 1e9))
        .filter(|rate| rate.is_finite())
}

/// Stated work over what the devices could have done in the same time, each weighted by the time it
/// ran.
///
/// `None` where no work is stated or the peak of a device that ran is not known.
fn share(
    work: Option<f64>,
    parts: &[GpuSpanStats],
    devices: &[Device],
    peak: impl Fn(&Device) -> Option<u64>,
) -> Option<f64> {
    let work = work?;
    let mut possible = 0.0;
    for part in parts {
        let device = devices
            .iter()
            .find(|device| Some(device.ordinal) == part.device)?;
        possible += peak(device)? as f64 * (part.timed_ns as f64 / 1e9);
    }
    let share = work / possible;
    share.is_finite().then_some(share)
}

/// The functions that ran or are running, in the order wanted.
pub(super) fn sorted(profile: &Profile, sort: Sort) -> Vec<&Function> {
    let mut functions: Vec<&Function> = profile
        .functions
        .iter()
        .filter(|function| function.has_run())
        .collect();
    functions.sort_by(|a, b| compare(a, b, sort));
    functions
}

fn compare(a: &Function, b: &Function, sort: Sort) -> Ordering {
    let first = match sort {
        Sort::Gpu | Sort::Name => Ordering::Equal,
        Sort::Cpu => b.cpu.self_ns.cmp(&a.cpu.self_ns),
        Sort::Calls => b.calls.cmp(&a.calls),
        Sort::Max => longest(b).cmp(&longest(a)),
    };
    let by_name = || a.name.cmp(&b.name);
    if sort == Sort::Name {
        return by_name();
    }
    first
        .then_with(|| by_gpu(a).cmp(&by_gpu(b)))
        .then_with(by_name)
}

/// Longest call: on the GPU first, so that a slow call on the CPU does not hide it.
fn longest(function: &Function) -> (u64, u64) {
    (
        function.gpu.as_ref().map_or(0, |gpu| gpu.times.max_ns),
        function.cpu.max_ns,
    )
}

fn by_gpu(function: &Function) -> impl Ord + use<> {
    let gpu_self = function.gpu.as_ref().map_or(0, |gpu| gpu.times.self_ns);
    Reverse((gpu_self, function.gpu_nested_ns, function.cpu.self_ns))
}

/// GPU self time of all functions: what shares are of.
pub(crate) fn gpu_self_of_all(profile: &Profile) -> u64 {
    let gpu = profile
        .functions
        .iter()
        .filter_map(|function| function.gpu.as_ref());
    gpu.fold(0, |sum, gpu| sum.saturating_add(gpu.times.self_ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::SpanStats;

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
        );
        assert_eq!(memory.peak, Some((0.5, Limit::Memory)));
        let arithmetic = Figures::of_device(
            &ran(0, 1_000_000_000, 500.0, 3_000.0),
            Doubt::default(),
            &devices,
        );
        assert_eq!(arithmetic.peak, Some((0.75, Limit::Arithmetic)));
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
        let row = Figures::of_gpu(&gpu, &parts, &devices);
        // 1 s of 1,000 and 3 s of 3,000 bytes per second.
        assert_eq!(row.peak, Some((0.5, Limit::Memory)));
        assert_eq!(row.bytes_per_s, Some(1_250.0));
    }

    #[test]
    fn no_share_is_shown_where_a_peak_is_unknown_or_no_time_passed() {
        let unknown = Figures::of_device(
            &ran(7, 1_000, 1.0, 1.0),
            Doubt::default(),
            &[device(0, 1, Some(1))],
        );
        assert_eq!(unknown.peak, None);
        let instant = Figures::of_device(
            &ran(0, 0, 1.0, 1.0),
            Doubt::default(),
            &[device(0, 1, Some(1))],
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
}
