//! Promise: a future that is polled millions of times is one call with exact times, and its polls
//! take no memory.

use std::fs;
use std::pin::pin;
use std::sync::Arc;

use cudarc::driver::CudaStream;
use gpuprof::gpu_profile;
use support::executor::{pause, poll};
use support::suite::Module;
use support::tests;
use support::{World, cpu_times, function, gpu_times, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![two_million_polls_are_one_call_and_take_no_memory,]],
);

/// Resident bytes of this process.
fn resident() -> u64 {
    let rollup = fs::read_to_string("/proc/self/smaps_rollup").expect("Linux tells");
    let line = rollup.lines().find_map(|line| line.strip_prefix("Rss:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB"));
    let kib = kib.and_then(|kib| kib.trim().parse::<u64>().ok());
    kib.expect("a number of kB") << 10
}

#[gpu_profile]
async fn patient(w: &World, _stream: &Arc<CudaStream>, polls: u64) {
    for _ in 1..polls {
        w.cpu(3);
        pause().await;
    }
}

fn two_million_polls_are_one_call_and_take_no_memory() {
    const POLLS: u64 = 2_000_000;
    const WARM_UP: u64 = 10_000;
    let w = world();
    let session = w.session();
    let growth = {
        let mut future = pin!(patient(&w, &w.gpu.stream, POLLS));
        let mut poll = || poll(future.as_mut());
        (0..WARM_UP).for_each(|_| assert!(poll().is_pending()));
        let before = resident();
        (WARM_UP..POLLS - 1).for_each(|_| assert!(poll().is_pending()));
        let growth = resident().saturating_sub(before);
        assert!(poll().is_ready());
        growth
    };
    // Less than half a byte per poll, the growth of the rest of the process included.
    assert!(growth <= 1 << 20, "{growth} bytes");
    let profile = w.finish(session);
    let ns = 3 * (POLLS - 1);
    assert_eq!(cpu_times(&profile, "patient"), (1, ns, ns));
    let wall = function(&profile, "patient").wall.as_ref();
    assert_eq!(wall.map(|wall| wall.total_ns), Some(ns));
    assert_eq!(gpu_times(&profile, "patient"), (1, ns, ns));
    assert_eq!((profile.diagnostics.calls, profile.tree.len()), (1, 1));
}
