//! Promise: the kernels of calls with a label belong to their function, their busy time to the
//! label too, also in the replays of a graph.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use gpuprof::{Profile, gpu_profile};
use support::cupti_world::{Tier, busy, kernels, tier};
use support::executor::{pause, poll};
use support::suite::Module;
use support::{function, node, tests};

use crate::graph_objects::{capture, launch};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        busy_time_is_divided_by_label,
        replays_have_the_label_of_their_capture,
    ]],
);

#[gpu_profile(label = index)]
fn layer(t: &Tier, stream: &Arc<CudaStream>, index: u64) {
    t.gpu.kernel_on(stream, 1_000);
    (0..=index).for_each(|_| part(t, stream));
}

#[gpu_profile]
fn part(t: &Tier, stream: &Arc<CudaStream>) {
    t.gpu.kernel_on(stream, 300);
}

#[gpu_profile(label = name)]
async fn serve(t: &Tier, stream: &Arc<CudaStream>, name: &str) {
    t.gpu.kernel_on(stream, 1_000);
    pause().await;
    t.gpu.kernel_on(stream, 1_000);
}

#[gpu_profile]
fn replay(t: &Tier, stream: &Arc<CudaStream>, graph: &cudarc::driver::CudaGraph) {
    let _ = stream;
    launch(t, graph, 1_000);
}

/// The labels of a function with their calls and busy time.
fn labels(profile: &Profile, name: &str) -> Vec<(String, u64, Option<u64>)> {
    let labels = function(profile, name).labels.iter();
    labels
        .map(|stats| (stats.label.clone(), stats.calls, stats.gpu_busy_ns))
        .collect()
}

fn busy_time_is_divided_by_label() {
    let t = tier();
    let (a, b) = (t.gpu.another_stream(), t.gpu.another_stream());
    let session = t.session();
    (0..3).for_each(|index| layer(&t, &a, index % 2));
    t.synchronize();
    let mut short = Box::pin(serve(&t, &a, "short"));
    let mut long = Box::pin(serve(&t, &b, "long"));
    assert!(poll(short.as_mut()).is_pending());
    assert!(poll(long.as_mut()).is_pending());
    assert!(poll(long.as_mut()).is_ready());
    drop(short);
    let profile = t.finish(session);
    let [even, odd] = [("0".into(), 2, Some(2_600)), ("1".into(), 1, Some(1_600))];
    assert_eq!(labels(&profile, "layer"), [even, odd]);
    assert_eq!(busy(&profile, "layer"), (4_200, 3, 7, 7));
    assert_eq!(kernels(&profile, "layer"), [("saxpy", 3, 3_000)]);
    assert_eq!(kernels(&profile, "part"), [("saxpy", 4, 1_200)]);
    let [long, short] = [
        ("long".into(), 1, Some(2_000)),
        ("short".into(), 1, Some(1_000)),
    ];
    assert_eq!(labels(&profile, "serve"), [long, short]);
}

fn replays_have_the_label_of_their_capture() {
    let t = tier();
    let stream = t.gpu.another_stream();
    let session = t.session();
    let graph = capture(&stream, || {
        (0..2).for_each(|index| layer(&t, &stream, index))
    });
    // The calls themselves are of an earlier window.
    gpuprof::reset();
    for _ in 0..3 {
        replay(&t, &stream, &graph);
    }
    let profile = t.finish(session);
    let runs = |label: &str| {
        let node = node(&profile, &["replay", "captured", label]);
        let runs = node.captured.as_ref().expect("a node of a replay");
        (runs.replays, runs.busy_ns)
    };
    assert_eq!(
        [runs("layer[0]"), runs("layer[1]")],
        [(3, 6_000), (3, 9_000)]
    );
    let [first, second] = [("0".into(), 0, Some(6_000)), ("1".into(), 0, Some(9_000))];
    assert_eq!(labels(&profile, "layer"), [first, second]);
}
