//! Allocations and frees of known sizes, by CUPTI's records.

use std::process::ExitCode;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DriverError, PinnedHostSlice, sys};
use gpuprof::profile::{FunctionMemory, MemoryKind, MemoryTotals};
use gpuprof::{Profile, gpu_profile};

use super::{function, refusal, run_with};
use crate::check::{Row, RunMode};
use crate::device::{self, failed_in};

pub(super) const NAME: &str = "memory";

/// Bytes of the buffers that are kept to the end.
const KEPT: [u64; 3] = [1_000, 4_096, 5_000_001];
const SCRATCH: u64 = 65_536;
const SCRATCH_CALLS: u64 = 7;
const PINNED: u64 = 12_345;
/// A whole number of the pool's pages.
const POOLED: u64 = 64 << 20;

#[gpu_profile(name = "keeps")]
fn keeps(stream: &Arc<CudaStream>) -> Result<Vec<CudaSlice<u8>>, DriverError> {
    KEPT.iter().map(|bytes| alloc(stream, *bytes)).collect()
}

#[gpu_profile(name = "scratch")]
fn scratch(stream: &Arc<CudaStream>) -> Result<(), DriverError> {
    drop(alloc(stream, SCRATCH)?);
    Ok(())
}

#[gpu_profile(name = "pinned")]
fn pinned(stream: &Arc<CudaStream>) -> Result<PinnedHostSlice<u8>, DriverError> {
    // SAFETY: nothing reads the memory.
    unsafe { stream.context().alloc_pinned(PINNED as usize) }
}

#[gpu_profile(name = "frees")]
fn frees(_stream: &Arc<CudaStream>, slice: CudaSlice<u8>) {
    drop(slice);
}

#[gpu_profile(name = "grows the pool")]
fn grows(stream: &Arc<CudaStream>) -> Result<CudaSlice<u8>, DriverError> {
    alloc(stream, POOLED)
}

#[gpu_profile(name = "maps memory")]
fn maps(_stream: &Arc<CudaStream>) -> Result<(), DriverError> {
    map_and_unmap()
}

fn alloc(stream: &Arc<CudaStream>, bytes: u64) -> Result<CudaSlice<u8>, DriverError> {
    // SAFETY: nothing reads the memory.
    unsafe { stream.alloc(bytes as usize) }
}

/// What the program prints.
#[derive(serde::Serialize, serde::Deserialize)]
struct Printed {
    profile: Profile,
    /// Whether the driver could map physical memory.
    has_mapped: bool,
}

pub(super) fn run_program(run_mode: &RunMode) -> Result<ExitCode, String> {
    device::open(run_mode)?;
    let (profile, has_mapped) = work().map_err(failed_in("an allocation"))?;
    let printed = Printed {
        profile,
        has_mapped,
    };
    let printed = serde_json::to_string(&printed).map_err(|error| error.to_string())?;
    println!("{printed}");
    Ok(ExitCode::SUCCESS)
}

fn work() -> Result<(Profile, bool), DriverError> {
    let context = CudaContext::new(0)?;
    let stream = context.new_stream()?;
    let mut kept = keeps(&stream)?;
    (0..SCRATCH_CALLS).try_for_each(|_| scratch(&stream))?;
    let host = pinned(&stream)?;
    let grown = grows(&stream)?;
    frees(&stream, grown);
    // Outside of every function, and a drop at the end of a scope.
    drop(kept.pop());
    {
        let _scope = alloc(&stream, SCRATCH)?;
    }
    let has_mapped = maps(&stream).is_ok();
    stream.synchronize()?;
    let profile = gpuprof::collect();
    drop((kept, host));
    Ok((profile, has_mapped))
}

/// Physical memory of device 0 that is mapped, and given back.
fn map_and_unmap() -> Result<(), DriverError> {
    // SAFETY: zeroes are valid for each of its fields, and mean device 0.
    let mut prop: sys::CUmemAllocationProp = unsafe { std::mem::zeroed() };
    prop.type_ = sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type_ = sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
    let bytes = POOLED as usize;
    let (mut handle, mut address) = (0, 0);
    // SAFETY: the properties are whole.
    unsafe { sys::cuMemCreate(&raw mut handle, bytes, &raw const prop, 0) }.result()?;
    // SAFETY: the address is written.
    unsafe { sys::cuMemAddressReserve(&raw mut address, bytes, 0, 0, 0) }.result()?;
    // SAFETY: the range is reserved and of this size.
    unsafe { sys::cuMemMap(address, bytes, 0, handle, 0) }.result()?;
    // SAFETY: it is mapped, and nothing uses it.
    unsafe { sys::cuMemUnmap(address, bytes) }.result()?;
    // SAFETY: it is not mapped.
    unsafe { sys::cuMemAddressFree(address, bytes) }.result()?;
    // SAFETY: nothing maps it.
    unsafe { sys::cuMemRelease(handle) }.result()
}

pub(super) fn run(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let records: Printed = run_with(NAME, run_mode, &[("GPUPROF_MEMORY", "on")])?;
    Ok(match refusal(&records.profile) {
        Some(why) => vec![Row::unavailable("allocations inside functions", why)],
        None => by_records(&records),
    })
}

fn by_records(printed: &Printed) -> Vec<Row> {
    let profile = &printed.profile;
    let kept: u64 = KEPT.iter().sum();
    let scratch = SCRATCH_CALLS * SCRATCH;
    let device = MemoryKind::Device;
    let mut rows = vec![
        totals_row(profile, ("keeps", device), (3, kept, 0, 0)),
        totals_row(
            profile,
            ("scratch", device),
            (SCRATCH_CALLS, scratch, SCRATCH_CALLS, scratch),
        ),
        totals_row(profile, ("pinned", MemoryKind::Pinned), (1, PINNED, 0, 0)),
        totals_row(profile, ("grows the pool", device), (1, POOLED, 0, 0)),
        totals_row(profile, ("frees", device), (0, 0, 1, POOLED)),
        live_row(profile, ("keeps", device), KEPT[0] + KEPT[1]),
        live_row(profile, ("pinned", MemoryKind::Pinned), PINNED),
        live_row(profile, ("grows the pool", device), 0),
    ];
    rows.push(peak_row(profile, kept + POOLED));
    let mapped = of(profile, ("maps memory", device));
    let what = "records of cuMemCreate, cuMemMap and their release";
    rows.push(match (printed.has_mapped, mapped) {
        (false, _) => Row::unavailable(what, "the driver cannot map physical memory"),
        (true, None) => Row::info(what, "none"),
        (true, Some(memory)) => Row::info(what, shown(&memory.exclusive)),
    });
    rows
}

fn of(profile: &Profile, (name, kind): (&str, MemoryKind)) -> Option<FunctionMemory> {
    let mut memory = function(profile, name)?.memory.iter();
    memory.find(|memory| memory.kind == kind).copied()
}

fn shown(totals: &MemoryTotals) -> String {
    format!(
        "{} allocations of {} B, {} frees of {} B",
        totals.allocations, totals.allocated_bytes, totals.frees, totals.freed_bytes
    )
}

fn totals_row(
    profile: &Profile,
    (name, kind): (&str, MemoryKind),
    (allocations, allocated, frees, freed): (u64, u64, u64, u64),
) -> Row {
    let mut wanted = MemoryTotals::default();
    (wanted.allocations, wanted.allocated_bytes) = (allocations, allocated);
    (wanted.frees, wanted.freed_bytes) = (frees, freed);
    let found = of(profile, (name, kind)).map(|memory| memory.exclusive);
    Row::judged(
        format!("{kind} memory in `{name}`"),
        found.as_ref().map_or("none".into(), shown),
        shown(&wanted),
        found == Some(wanted),
    )
}

fn live_row(profile: &Profile, (name, kind): (&str, MemoryKind), wanted: u64) -> Row {
    let found = of(profile, (name, kind)).map_or(0, |memory| memory.live_bytes);
    Row::judged(
        format!("live {kind} memory of `{name}`"),
        format!("{found} B"),
        format!("{wanted} B"),
        found == wanted,
    )
}

/// The peak may have what the context itself allocates.
fn peak_row(profile: &Profile, least: u64) -> Row {
    let uses = profile.memory.iter().flat_map(|memory| &memory.uses);
    let mut uses = uses.filter(|of| of.kind == MemoryKind::Device);
    let found = uses.next();
    let peak = found.map_or(0, |of| of.peak_bytes);
    let name = found.and_then(|of| of.peak_function.clone());
    Row::judged(
        "peak of device memory, and the function that reached it",
        format!("{peak} B in {}", name.as_deref().unwrap_or("none")),
        format!("at least {least} B in grows the pool"),
        peak >= least && name.as_deref() == Some("grows the pool"),
    )
}
