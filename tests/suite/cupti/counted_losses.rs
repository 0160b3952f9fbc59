//! Promise: activity that cannot be attributed exactly is counted and reported.

use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::CudaStream;
use gpuprof::gpu_profile;
use support::cupti_world::{Tier, busy, cupti, kernels, move_bytes, tier, work};
use support::suite::Module;
use support::tests;
use support::{function, until};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        calls_that_end_faster_than_they_are_taken_note_of_are_counted,
        what_comes_when_only_a_sum_is_left_is_late,
        a_launch_without_a_record_is_unfinished,
        only_copies_of_no_bytes_may_lack_a_record,
    ]],
)
.with_subscriber_calls();

/// `CUpti_ActivityKind`.
const MEMCPY: u32 = 1;
const CONCURRENT_KERNEL: u32 = 10;

#[gpu_profile]
fn two_streams(t: &Tier, short: &Arc<CudaStream>, long: &Arc<CudaStream>, count: u64) {
    t.gpu.kernel_on(long, 1_000_000_000);
    for _ in 0..count {
        t.gpu.kernel_on(short, 10);
        t.cpu(100);
    }
}

#[gpu_profile(cpu)]
fn quick() {}

fn calls_that_end_faster_than_they_are_taken_note_of_are_counted() {
    let t = tier();
    let session = t.session();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..200_000).for_each(|_| quick()));
        }
    });
    let profile = t.finish_unchecked(session);
    let (calls, lost) = (
        function(&profile, "quick").calls,
        cupti(&profile).dropped_calls,
    );
    assert_eq!(calls, 800_000);
    assert_eq!(work(&profile, "quick").busy_calls + lost, calls);
}

/// A call stores 65,536 intervals; beyond that the earlier half is reduced to its length.
fn what_comes_when_only_a_sum_is_left_is_late() {
    let t = tier();
    let (long, short) = (t.gpu.another_stream(), t.gpu.another_stream());
    let session = t.session();
    two_streams(&t, &short, &long, 80_000);
    // Most short kernels are attributed by now. The others are in the buffer of the long kernel,
    // which has not ended, or wait for the API record of their launch.
    // Not all the time: a profile of so many records keeps the reader from its work.
    until(|| {
        std::thread::sleep(Duration::from_millis(20));
        work(&session.snapshot(), "two_streams").launches > 70_000
    });
    let profile = t.finish_unchecked(session);
    // Late are the long kernel and the short ones in its buffer.
    let late = cupti(&profile).late_records;
    assert!((1..5_000).contains(&late), "{late}");
    let (busy_ns, calls, _, launches) = busy(&profile, "two_streams");
    assert_eq!((calls, launches), (1, 80_001));
    // The busy time may count some of the short kernels twice, and nothing else.
    let short_ns = 80_000 * 10;
    assert!(busy_ns > 1_000_000_000 && busy_ns <= 1_000_000_000 + short_ns);
    assert_eq!(kernels(&profile, "two_streams")[0].1, 80_001);
    // Most of it is outside the GPU span, but a sum that may be too large is no proof of that.
    let notes = profile.diagnostics.notes.join("\n");
    assert!(!notes.contains("wrong stream"), "{notes}");
}

fn a_launch_without_a_record_is_unfinished() {
    let t = tier();
    let session = t.session();
    t.cupti.drop_record(CONCURRENT_KERNEL, 1);
    t.gpu.kernel(100);
    t.synchronize();
    let profile = t.finish_unchecked(session);
    assert_eq!(
        (cupti(&profile).dropped_records, cupti(&profile).unfinished),
        (1, 1)
    );
}

fn only_copies_of_no_bytes_may_lack_a_record() {
    let t = tier();
    let stream = &t.gpu.stream;
    let mut device = [(); 2].map(|()| stream.alloc_zeros::<u8>(500).expect("memory"));
    t.synchronize();
    let session = t.session();
    t.cupti.drop_record(MEMCPY, 1);
    move_bytes(stream, &mut device, 0);
    move_bytes(stream, &mut device, 500);
    let profile = t.finish_unchecked(session);
    assert_eq!(
        (cupti(&profile).dropped_records, cupti(&profile).unfinished),
        (1, 1)
    );
}
