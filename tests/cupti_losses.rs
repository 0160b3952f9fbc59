//! Promise: what the kernel tier cannot follow is counted, and told.

mod common;
mod kernel_tier;

use common::function;
use gpuprof::gpu_profile;
use kernel_tier::{cupti, tier, work};

#[gpu_profile(cpu)]
fn quick() {}

#[test]
fn calls_that_end_faster_than_they_are_taken_note_of_are_counted() {
    let t = tier();
    let session = t.session();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..200_000).for_each(|_| quick()));
        }
    });
    let profile = t.finish_whatever(session);
    let (calls, lost) = (
        function(&profile, "quick").calls,
        cupti(&profile).lost_calls,
    );
    assert_eq!(calls, 800_000);
    assert_eq!(work(&profile, "quick").busy_calls + lost, calls);
}
