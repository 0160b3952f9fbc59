//! Promise: samples of hardware counters are tracks of their device on the time line, on the clock
//! of the kernels.

use gpuprof::Output;
use gpuprof::trace::CounterTrack;
use support::cupti_world::builder;
use support::sampled_world::{INTERVAL_NS, MS, begin, first, sampled_world};
use support::suite::Module;
use support::tests;

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        each_metric_is_a_track_with_a_value_for_each_sample,
        without_counters_there_are_no_tracks,
    ]],
);

fn tracks(counters: bool) -> (Vec<CounterTrack>, Vec<(u64, u64)>) {
    let t = sampled_world();
    t.cpu(1_000);
    let outputs = [Output::Trace("/dev/null".into())];
    let builder = builder().counters(counters).outputs(outputs);
    let session = builder.start().expect("no other session is open");
    begin(&t);
    first(&t.gpu, MS);
    t.synchronize();
    t.cpu(2 * INTERVAL_NS);
    let trace = gpuprof::collect_trace().expect("a time line");
    drop(session.finish());
    let kernels = trace.activities.iter();
    let kernels = kernels.map(|kernel| (kernel.start_ns, kernel.end_ns));
    (trace.counters, kernels.collect())
}

fn each_metric_is_a_track_with_a_value_for_each_sample() {
    let (tracks, kernels) = tracks(true);
    let names: Vec<&str> = tracks.iter().map(|track| track.name.as_str()).collect();
    let expected = [
        "DRAM read (GB/s)",
        "DRAM write (GB/s)",
        "SMs active (%)",
        "tensor cores active (%)",
        "issue rate (%)",
        "PCIe read (GB/s)",
        "PCIe write (GB/s)",
    ];
    assert_eq!(names, expected);
    assert!(tracks.iter().all(|track| track.device == Some(0)));
    // 3 MB and 1 MB in 1 ms, 75 %, 25 % and 50 %, during the samples inside the kernel.
    let (start, end) = kernels[1];
    for (track, value) in tracks.iter().zip([3.0, 1.0, 75.0, 25.0, 50.0, 0.0, 0.0]) {
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

fn without_counters_there_are_no_tracks() {
    assert!(tracks(false).0.is_empty());
}
