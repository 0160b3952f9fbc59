//! Promise: with `GPUPROF_MEMORY=on` each allocation and free belongs to the function that made it,
//! and what is live, and the most that ever was, are exact.

use std::sync::Arc;

use cudarc::driver::sys::CUgraphInstantiate_flags as Flags;
use cudarc::driver::sys::CUstreamCaptureMode as Mode;
use cudarc::driver::{CudaSlice, CudaStream};
use gpuprof::profile::{FunctionMemory, Memory, MemoryKind, MemoryTotals, MemoryUse};
use gpuprof::{Profile, Session, gpu_profile};
use promises::assert_kept;
use support::cupti_from_environment::in_use;
use support::cupti_world::{Tier, builder, cupti, tier};
use support::function;
use support::suite::Module;
use support::tests;

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        allocations_and_frees_belong_to_the_functions_that_made_them,
        memory_is_live_in_its_maker_until_it_is_freed_anywhere,
        pinned_and_managed_memory_are_told_apart,
        totals_are_those_of_the_window_and_live_memory_is_that_of_the_process,
        memory_from_before_the_recording_is_counted_and_not_live,
        a_dropped_record_of_a_free_is_noticed,
        records_out_of_order_and_in_pieces_are_exact,
        a_refused_kind_of_record_is_said,
        nothing_is_recorded_unless_it_is_asked_for,
        captured_allocations_are_left_out,
    ]],
)
.with_subscriber_calls();

/// `CUpti_ActivityKind`.
const MEMORY2: u32 = 49;

#[gpu_profile]
fn inner(stream: &Arc<CudaStream>, bytes: usize) -> CudaSlice<u8> {
    alloc(stream, bytes)
}

#[gpu_profile]
fn outer(stream: &Arc<CudaStream>) -> CudaSlice<u8> {
    let kept = inner(stream, 1_000);
    let _scratch = inner(stream, 300);
    let _own = alloc(stream, 50);
    kept
}

#[gpu_profile]
fn again(stream: &Arc<CudaStream>, depth: u32) {
    let _own = alloc(stream, 10);
    if depth > 0 {
        again(stream, depth - 1);
    }
}

fn alloc(stream: &Arc<CudaStream>, bytes: usize) -> CudaSlice<u8> {
    // SAFETY: nothing reads the memory.
    unsafe { stream.alloc::<u8>(bytes) }.expect("an allocation")
}

fn session(t: &Tier) -> Session {
    t.cpu(1_000);
    builder().memory(true).start().expect("no other session")
}

fn memory(profile: &Profile) -> &Memory {
    let notes = &profile.diagnostics.notes;
    let memory = profile.memory.as_ref();
    memory.unwrap_or_else(|| panic!("no memory: {notes:?}"))
}

fn of_kind(profile: &Profile, kind: MemoryKind) -> &MemoryUse {
    let mut uses = memory(profile).uses.iter();
    uses.find(|of| of.kind == kind).expect("of this kind")
}

/// Device memory of the function of this name.
fn of(profile: &Profile, name: &str) -> FunctionMemory {
    let [memory] = function(profile, name).memory[..] else {
        panic!("{name} has memory of several kinds, or none");
    };
    memory
}

fn totals(allocations: u64, allocated: u64, frees: u64, freed: u64) -> MemoryTotals {
    let mut totals = MemoryTotals::default();
    (totals.allocations, totals.allocated_bytes) = (allocations, allocated);
    (totals.frees, totals.freed_bytes) = (frees, freed);
    totals
}

fn allocations_and_frees_belong_to_the_functions_that_made_them() {
    let t = tier();
    let session = session(&t);
    let kept = outer(&t.gpu.stream);
    let outside = alloc(&t.gpu.stream, 7);
    again(&t.gpu.stream, 2);
    let profile = t.finish(session);
    let inner = of(&profile, "inner");
    assert_eq!(inner.exclusive, totals(2, 1_300, 0, 0));
    assert_eq!(inner.inclusive, inner.exclusive);
    assert_eq!((inner.live_allocations, inner.live_bytes), (1, 1_000));
    let outer = of(&profile, "outer");
    assert_eq!(outer.exclusive, totals(1, 50, 2, 350));
    assert_eq!(outer.inclusive, totals(3, 1_350, 2, 350));
    assert_eq!((outer.live_allocations, outer.live_bytes), (0, 0));
    // Of a recursion each record counts once.
    let again = of(&profile, "again");
    assert_eq!(again.inclusive, totals(3, 30, 3, 30));
    assert_eq!(again.exclusive, again.inclusive);
    let [unattributed] = memory(&profile).outside[..] else {
        panic!("{:?}", memory(&profile));
    };
    assert_eq!(unattributed.exclusive, totals(1, 7, 0, 0));
    assert_eq!(unattributed.live_bytes, 7);
    let device = of_kind(&profile, MemoryKind::Device);
    assert_eq!(
        (device.device, device.totals),
        (Some(0), totals(7, 1_387, 5, 380))
    );
    assert_eq!((device.live_allocations, device.live_bytes), (2, 1_007));
    let losses = memory(&profile);
    assert_eq!(
        [
            losses.unknown_frees,
            losses.missed_frees,
            losses.untracked_allocations
        ],
        [0; 3]
    );
    assert_eq!([losses.late_records, losses.records_without_call], [0; 2]);
    drop((kept, outside));
}

fn memory_is_live_in_its_maker_until_it_is_freed_anywhere() {
    let t = tier();
    let session = session(&t);
    let live = promises::memory::work(&t.gpu.stream).expect("allocations");
    let profile = t.finish(session);
    assert_kept(Ok(promises::memory::observe(&profile, 0)));
    drop(live);
}

#[gpu_profile]
fn pinned(stream: &Arc<CudaStream>) {
    // SAFETY: nothing reads the memory.
    let pinned = unsafe { stream.context().alloc_pinned::<u8>(123) };
    drop(pinned.expect("pinned memory"));
    // SAFETY: nothing reads the memory.
    let managed = unsafe { stream.context().alloc_unified::<u8>(45, true) };
    drop(managed.expect("managed memory"));
    drop(alloc(stream, 6));
}

fn pinned_and_managed_memory_are_told_apart() {
    let t = tier();
    let session = session(&t);
    pinned(&t.gpu.stream);
    let profile = t.finish(session);
    let found = function(&profile, "pinned").memory.iter();
    let found: Vec<_> = found.map(|of| (of.kind, of.exclusive)).collect();
    let expected = [
        (MemoryKind::Device, totals(1, 6, 1, 6)),
        (MemoryKind::Managed, totals(1, 45, 1, 45)),
        (MemoryKind::Pinned, totals(1, 123, 1, 123)),
    ];
    assert_eq!(found, expected);
    let devices = memory(&profile)
        .uses
        .iter()
        .map(|of| (of.device, of.peak_bytes));
    let devices: Vec<_> = devices.collect();
    assert_eq!(devices, [(Some(0), 6), (Some(0), 45), (None, 123)]);
}

fn totals_are_those_of_the_window_and_live_memory_is_that_of_the_process() {
    let t = tier();
    let first = session(&t);
    let kept = outer(&t.gpu.stream);
    drop(t.finish(first));
    let second = session(&t);
    again(&t.gpu.stream, 0);
    drop(inner(&t.gpu.stream, 1));
    let profile = t.finish(second);
    let inner = of(&profile, "inner");
    assert_eq!(inner.exclusive, totals(1, 1, 0, 0));
    assert_eq!((inner.live_bytes, inner.peak_growth_bytes), (1_000, 0));
    let device = of_kind(&profile, MemoryKind::Device);
    assert_eq!(
        (device.totals, device.peak_bytes),
        (totals(2, 11, 2, 11), 1_350)
    );
    // After a reset too, and in a profile that is taken before the end.
    let third = session(&t);
    again(&t.gpu.stream, 0);
    t.synchronize();
    t.cpu(1_000);
    gpuprof::reset();
    t.cpu(1_000);
    again(&t.gpu.stream, 1);
    let profile = t.finish(third);
    assert_eq!(of(&profile, "again").inclusive, totals(2, 20, 2, 20));
    assert_eq!(of_kind(&profile, MemoryKind::Device).live_bytes, 1_000);
    drop(kept);
}

fn memory_from_before_the_recording_is_counted_and_not_live() {
    let t = tier();
    let before = alloc(&t.gpu.stream, 900);
    let session = session(&t);
    let kept = inner(&t.gpu.stream, 10);
    drop(before);
    let profile = t.finish(session);
    let all = memory(&profile);
    assert_eq!((all.unknown_frees, all.unknown_freed_bytes), (1, 900));
    assert_eq!(of_kind(&profile, MemoryKind::Device).live_bytes, 10);
    assert!(profile.to_string().contains("1 free of 900 B"), "{profile}");
    drop(kept);
}

fn a_dropped_record_of_a_free_is_noticed() {
    let t = tier();
    let session = session(&t);
    let slice = inner(&t.gpu.stream, 10);
    t.cupti.drop_record(MEMORY2, 1);
    drop(slice);
    let kept = inner(&t.gpu.stream, 30);
    let profile = t.finish_unchecked(session);
    assert_eq!(cupti(&profile).dropped_records, 1);
    // It looks live, and the line about dropped records is in the report.
    assert_eq!(of_kind(&profile, MemoryKind::Device).live_bytes, 40);
    drop(kept);
}

fn records_out_of_order_and_in_pieces_are_exact() {
    let t = tier();
    for order in [simcupti::Order::Reversed, simcupti::Order::ActivitiesFirst] {
        t.cupti.set_order(order);
        let session = session(&t);
        for _ in 0..500 {
            drop(outer(&t.gpu.stream));
        }
        let profile = t.finish(session);
        let outer = of(&profile, "outer");
        assert_eq!(outer.inclusive, totals(1_500, 675_000, 1_000, 175_000));
        let device = of_kind(&profile, MemoryKind::Device);
        assert_eq!((device.peak_bytes, device.live_bytes), (1_350, 0));
        assert_eq!(memory(&profile).unknown_frees, 0);
    }
}

fn a_refused_kind_of_record_is_said() {
    let t = tier();
    // CUPTI is running when the kind is refused: kernels stay.
    drop(t.finish(t.session()));
    let call = in_use("cuptiActivityEnable");
    t.cupti.fail(&call, 1, 1, 999);
    let session = session(&t);
    drop(outer(&t.gpu.stream));
    t.gpu.kernel(100);
    let profile = t.finish(session);
    let notes = profile.diagnostics.notes.join("\n");
    let said = format!("allocations and frees are not recorded: {call} failed with 999");
    assert!(notes.contains(&said), "{notes}");
    assert_eq!(profile.kernels.len(), 1);
    assert!(function(&profile, "outer").memory.is_empty());
}

fn nothing_is_recorded_unless_it_is_asked_for() {
    let t = tier();
    let session = t.session();
    drop(outer(&t.gpu.stream));
    let profile = t.finish(session);
    assert_eq!(profile.memory, None);
    assert!(function(&profile, "outer").memory.is_empty());
    assert!(!profile.to_string().contains("Memory"), "{profile}");
    assert!(!profile.api.iter().any(|call| call.name.contains("Alloc")));
}

fn captured_allocations_are_left_out() {
    let t = tier();
    let session = session(&t);
    let stream = t.gpu.another_stream();
    let mode = Mode::CU_STREAM_CAPTURE_MODE_RELAXED;
    stream.begin_capture(mode).expect("a capture");
    let slice = inner(&stream, 10);
    drop(slice);
    drop(stream.end_capture(Flags(0)).expect("a graph"));
    let profile = t.finish(session);
    assert!(function(&profile, "inner").memory.is_empty());
}
