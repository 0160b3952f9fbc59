//! Promise: a record belongs to the function of its launch, however late the record arrives and
//! however many calls end in the meantime.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use gpuprof::gpu_profile;
use promises::{Tolerance, assert_kept, late_records};
use support::cupti_world::{Tier, busy, cupti, tier, work};
use support::suite::Module;
use support::tests;

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        records_after_many_reports_keep_their_functions,
        a_second_activity_of_a_call_after_several_reports_keeps_its_function,
        a_call_whose_records_are_awaited_stays_open,
        a_nested_call_whose_records_are_awaited_keeps_its_enclosing_call_open,
    ]],
)
.with_subscriber_calls();

const SECOND: u64 = 1_000_000_000;

// Without a GPU span, for which a report would wait.
#[gpu_profile(cpu)]
fn persistent(t: &Tier, stream: &Arc<CudaStream>) {
    t.gpu.kernel_on(stream, 70 * SECOND);
}

#[gpu_profile(cpu)]
fn beside(t: &Tier, stream: &Arc<CudaStream>) {
    t.gpu.kernel_on(stream, 10);
}

#[gpu_profile(cpu)]
fn copies(stream: &Arc<CudaStream>, from: &Buffer, to: &mut Buffer) {
    stream.memcpy_dtod(from, to).expect("copy");
}

type Buffer = cudarc::driver::CudaSlice<f32>;

#[gpu_profile]
fn around(t: &Tier, stream: &Arc<CudaStream>) {
    beside(t, stream);
}

#[gpu_profile(cpu)]
fn quick() {}

/// Each report asks CUPTI for its records: 620 of them are as many as the reader asks for in 62 s.
fn records_after_many_reports_keep_their_functions() {
    let t = tier();
    let (long_ns, reports) = (70 * SECOND, 620);
    let streams = [&t.gpu.stream, &t.gpu.another_stream()];
    let session = t.session();
    let is_running = late_records::work(&t.gpu, streams, long_ns, reports).expect("launches");
    let profile = t.finish(session);
    let within = [Tolerance::EXACT; 2];
    let observed = late_records::observe(&profile, (long_ns, reports), is_running, within);
    assert_kept(Ok(observed));
}

fn a_second_activity_of_a_call_after_several_reports_keeps_its_function() {
    let t = tier();
    let from = t.gpu.stream.alloc_zeros::<f32>(16 << 20).expect("memory");
    let mut to = t.gpu.stream.alloc_zeros::<f32>(16 << 20).expect("memory");
    t.cupti.split(1);
    t.cupti.split_copies(true);
    let session = t.session();
    t.synchronize();
    // Returns the buffer of the allocations, which has room for more than one record.
    drop(gpuprof::collect());
    t.sim.set_kernel_ns("memcpy", 1_000);
    copies(&t.gpu.stream, &from, &mut to);
    t.sim.set_kernel_ns("memcpy", 0);
    t.cpu(600);
    drop(gpuprof::collect());
    let snapshot = session.snapshot();
    let first_half = &work(&snapshot, "copies").copies[0].times;
    assert_eq!((first_half.calls, first_half.total_ns), (1, 500));
    for _ in 0..4 {
        drop(gpuprof::collect());
    }
    let profile = t.finish(session);
    let copies = &work(&profile, "copies").copies[0];
    assert_eq!((copies.times.calls, copies.bytes), (2, 64 << 20));
    assert_eq!(cupti(&profile).unattributed, 0);
}

/// More calls end than are remembered.
fn a_call_whose_records_are_awaited_stays_open() {
    let t = tier();
    let session = t.session();
    persistent(&t, &t.gpu.stream);
    many_calls(&session);
    let profile = t.finish(session);
    assert_eq!(busy(&profile, "persistent"), (70 * SECOND, 1, 1, 1));
    assert_eq!(cupti(&profile).records_without_call, 0);
}

fn a_nested_call_whose_records_are_awaited_keeps_its_enclosing_call_open() {
    let t = tier();
    let session = t.session();
    around(&t, &t.gpu.stream);
    many_calls(&session);
    let profile = t.finish(session);
    assert_eq!(busy(&profile, "around"), (10, 1, 1, 1));
    assert_eq!(cupti(&profile).records_without_call, 0);
}

/// Ends 150,000 calls, all of which reach the reader.
fn many_calls(session: &gpuprof::Session) {
    for _ in 0..3 {
        (0..50_000).for_each(|_| quick());
        drop(session.snapshot());
    }
}
