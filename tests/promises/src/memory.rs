//! Promise: allocations and frees have exact counts and bytes, by function and kind. What is live
//! is so in its maker until it is freed anywhere, and the peak names the function that reached it.

use std::sync::Arc;
use std::thread;

use cudarc::driver::{CudaSlice, CudaStream, DriverError, PinnedHostSlice};
use gpuprof::profile::{FunctionMemory, MemoryKind, MemoryTotals};
use gpuprof::{Profile, gpu_profile};

use crate::known_spans::function;
use crate::observation::Observation;
use crate::world::Done;

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
fn scratch(stream: &Arc<CudaStream>) -> Done {
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

fn alloc(stream: &Arc<CudaStream>, bytes: u64) -> Result<CudaSlice<u8>, DriverError> {
    // SAFETY: nothing reads the memory.
    unsafe { stream.alloc(bytes as usize) }
}

/// Memory that is live until it is dropped.
pub type Live = (Vec<CudaSlice<u8>>, PinnedHostSlice<u8>);

/// Allocates and frees in each function, and outside of them.
///
/// # Errors
/// A driver error.
pub fn work(stream: &Arc<CudaStream>) -> Result<Live, DriverError> {
    let mut kept = keeps(stream)?;
    (0..SCRATCH_CALLS).try_for_each(|_| scratch(stream))?;
    let host = pinned(stream)?;
    let grown = grows(stream)?;
    frees(stream, grown);
    // Outside of every function, on another thread; and a drop at the end of a scope.
    let freed = kept.pop();
    thread::scope(|scope| {
        scope.spawn(|| drop(freed));
    });
    {
        let _scope = alloc(stream, SCRATCH)?;
    }
    stream.synchronize()?;
    Ok((kept, host))
}

/// What the profile says of [`work`], if the context itself allocates so many bytes at most.
pub fn observe(profile: &Profile, of_context: u64) -> Vec<Observation> {
    let kept: u64 = KEPT.iter().sum();
    let scratch = SCRATCH_CALLS * SCRATCH;
    let device = MemoryKind::Device;
    vec![
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
        peak_row(profile, kept + POOLED, of_context),
    ]
}

/// The memory of this kind of a function.
pub fn of(profile: &Profile, (name, kind): (&str, MemoryKind)) -> Option<FunctionMemory> {
    let mut memory = function(profile, name)?.memory.iter();
    memory.find(|memory| memory.kind == kind).copied()
}

/// Allocations and frees with their bytes.
pub fn shown(totals: &MemoryTotals) -> String {
    format!(
        "{} allocations of {} B, {} frees of {} B",
        totals.allocations, totals.allocated_bytes, totals.frees, totals.freed_bytes
    )
}

fn totals_row(
    profile: &Profile,
    (name, kind): (&str, MemoryKind),
    (allocations, allocated, frees, freed): (u64, u64, u64, u64),
) -> Observation {
    let mut wanted = MemoryTotals::default();
    (wanted.allocations, wanted.allocated_bytes) = (allocations, allocated);
    (wanted.frees, wanted.freed_bytes) = (frees, freed);
    let found = of(profile, (name, kind)).map(|memory| memory.exclusive);
    Observation::new(
        format!("{kind} memory in `{name}`"),
        found.as_ref().map_or("none".into(), shown),
        shown(&wanted),
        found == Some(wanted),
    )
}

fn live_row(profile: &Profile, (name, kind): (&str, MemoryKind), wanted: u64) -> Observation {
    let found = of(profile, (name, kind)).map_or(0, |memory| memory.live_bytes);
    Observation::new(
        format!("live {kind} memory of `{name}`"),
        format!("{found} B"),
        format!("{wanted} B"),
        found == wanted,
    )
}

fn peak_row(profile: &Profile, least: u64, of_context: u64) -> Observation {
    let uses = profile.memory.iter().flat_map(|memory| &memory.uses);
    let mut uses = uses.filter(|of| of.kind == MemoryKind::Device);
    let found = uses.next();
    let peak = found.map_or(0, |of| of.peak_bytes);
    let name = found.and_then(|of| of.peak_function.as_deref());
    let grown = of(profile, ("grows the pool", MemoryKind::Device));
    let growth = grown.map_or(0, |memory| memory.peak_growth_bytes);
    // The peak before was that of a scratch buffer.
    let wanted = POOLED - SCRATCH;
    Observation::new(
        "peak of device memory, and the function that reached it",
        format!(
            "{peak} B in {}, higher by {growth} B",
            name.unwrap_or("none")
        ),
        format!("at least {least} B in grows the pool, higher by {wanted} B"),
        (least..=least.saturating_add(of_context)).contains(&peak)
            && name == Some("grows the pool")
            && growth == wanted,
    )
}
