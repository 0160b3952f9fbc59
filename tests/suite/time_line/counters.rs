//! Promise: samples of hardware counters are tracks of their device on the time line, on the clock
//! of the kernels.

use gpuprof::trace::CounterTrack;
use gpuprof::{Counters, Output};
use support::cupti_world::builder;
use support::sampled_world::{INTERVAL_NS, KERNEL_NS, begin, first, sampled_world};
use support::suite::Module;
use support::tests;

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        each_metric_is_a_track_with_a_value_for_each_sample,
        listed_metrics_are_tracks_too,
        no_value_holds_after_the_last_sample,
        without_counters_there_are_no_tracks,
    ]],
);

/// `other_process`: bytes per ns that another process reads.
fn tracks(
    counters: impl Into<Counters>,
    other_process: f64,
) -> (Vec<CounterTrack>, Vec<(u64, u64)>) {
    let t = sampled_world();
    t.cupti.set_other_process(other_process);
    t.cpu(1_000);
    let outputs = [Output::Trace("/dev/null".into())];
    let builder = builder().counters(counters).outputs(outputs);
    let session = builder.start().expect("no other session is open");
    begin(&t);
    first(&t.gpu, KERNEL_NS);
    t.synchronize();
    t.cpu(2 * INTERVAL_NS);
    let trace = gpuprof::collect_trace().expect("a time line");
    drop(session.finish());
    let kernels = trace.activities.iter();
    let kernels = kernels.map(|kernel| (kernel.start_ns, kernel.end_ns));
    (trace.counters, kernels.collect())
}

fn each_metric_is_a_track_with_a_value_for_each_sample() {
    let (tracks, kernels) = tracks(true, 0.0);
    let names: Vec<&str> = tracks.iter().map(|track| track.name.as_str()).collect();
    let expected = [
        "DRAM read (GB/s)",
        "DRAM write (GB/s)",
        "SMs active (%)",
        "tensor cores active (%)",
        "issue rate (%)",
        "FP64 units (%)",
        "L2 cache (%)",
        "L1 cache and shared memory (%)",
        "ALU units (%)",
        "XU units (%)",
        "PCIe read (GB/s)",
        "PCIe write (GB/s)",
    ];
    assert_eq!(names, expected);
    assert!(tracks.iter().all(|track| track.device == Some(0)));
    // 6 MB and 2 MB in 2 ms, and shares in percent, during the samples inside the kernel.
    let values = [
        3.0, 1.0, 75.0, 25.0, 50.0, 12.5, 37.5, 62.5, 6.25, 87.5, 0.0, 0.0,
    ];
    let (start, end) = kernels[1];
    for (track, value) in tracks.iter().zip(values) {
        let inside = track.samples.iter();
        let inside = inside.filter(|(at, _)| (start..end - INTERVAL_NS).contains(at));
        let values: Vec<f64> = inside.map(|(_, value)| *value).collect();
        assert!(values.len() >= 18, "{values:?}");
        let is_near = |other: &f64| (other - value).abs() < 1e-6;
        assert!(values.iter().all(is_near), "{}: {values:?}", track.name);
        let after = track.samples.iter().find(|(at, _)| *at >= end);
        assert_eq!(after.map(|(_, value)| *value), Some(0.0), "{}", track.name);
        assert!(track.samples.is_sorted_by_key(|(at, _)| *at));
    }
}

fn listed_metrics_are_tracks_too() {
    let list = "lts__t_sectors.sum,dram__bytes_read.sum,lts__t_sector_hit_rate.pct,\
                lts__t_sector_hit_rate.ratio";
    let counters: Counters = list.parse().expect("names of metrics");
    let (tracks, kernels) = tracks(counters, 0.0);
    // 400,000 sectors and 6 MB in 2 ms.
    let expected = [
        ("lts__t_sectors (G/s)", 0.2),
        ("dram__bytes_read (GB/s)", 3.0),
        ("lts__t_sector_hit_rate (%)", 75.0),
        ("lts__t_sector_hit_rate", 0.75),
    ];
    let start = kernels[1].0 + INTERVAL_NS;
    for (track, (name, value)) in tracks[12..].iter().zip(expected) {
        assert_eq!(track.name, name);
        let inside = track.samples.iter().find(|(at, _)| *at >= start);
        let (_, inside) = inside.expect("a sample in the kernel");
        assert!((inside - value).abs() < 1e-6, "{name}: {inside}");
    }
    assert_eq!(tracks.len(), 16);
}

fn no_value_holds_after_the_last_sample() {
    let (tracks, _) = tracks(true, 2.0);
    let [.., last, end] = tracks[0].samples[..] else {
        panic!("{:?}", tracks[0]);
    };
    assert_eq!((last.1, end), (2.0, (last.0 + INTERVAL_NS, 0.0)));
}

fn without_counters_there_are_no_tracks() {
    assert!(tracks(false, 0.0).0.is_empty());
}
