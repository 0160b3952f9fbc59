//! Allocations and frees of known sizes, by CUPTI's records.

use std::process::ExitCode;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream, DriverError, sys};
use gpuprof::profile::MemoryKind;
use gpuprof::{Profile, gpu_profile};
use promises::memory;

use super::{LIMIT, refusal};
use crate::check::{Row, RunMode};
use crate::device::{self, failed_in};
use crate::{process, runner};

pub(super) const NAME: &str = "memory";

/// Physical memory that is mapped, a whole number of pages.
const MAPPED: usize = 64 << 20;

#[gpu_profile(name = "maps memory")]
fn maps(_stream: &Arc<CudaStream>) -> Result<(), DriverError> {
    map_and_unmap()
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
    process::print(&printed)
}

fn work() -> Result<(Profile, bool), DriverError> {
    let stream = CudaContext::new(0)?.new_stream()?;
    let live = memory::work(&stream)?;
    let has_mapped = maps(&stream).is_ok();
    stream.synchronize()?;
    let profile = gpuprof::collect();
    drop(live);
    Ok((profile, has_mapped))
}

/// Physical memory of device 0 that is mapped, and given back.
fn map_and_unmap() -> Result<(), DriverError> {
    // SAFETY: zeroes are valid for each of its fields, and mean device 0.
    let mut prop: sys::CUmemAllocationProp = unsafe { std::mem::zeroed() };
    prop.type_ = sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type_ = sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
    let bytes = MAPPED;
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
    let records: Printed = runner::answer(NAME, run_mode, LIMIT, &[("GPUPROF_MEMORY", "on")])?;
    Ok(match refusal(&records.profile) {
        Some(why) => vec![Row::unavailable("allocations inside functions", why)],
        None => by_records(&records),
    })
}

fn by_records(printed: &Printed) -> Vec<Row> {
    let profile = &printed.profile;
    // The context may allocate memory of its own.
    let observed = memory::observe(profile, u64::MAX);
    let mut rows: Vec<_> = observed.into_iter().map(Row::from).collect();
    let mapped = memory::of(profile, ("maps memory", MemoryKind::Device));
    let what = "records of cuMemCreate, cuMemMap and their release";
    rows.push(match (printed.has_mapped, mapped) {
        (false, _) => Row::unavailable(what, "the driver cannot map physical memory"),
        (true, None) => Row::info(what, "none"),
        (true, Some(memory)) => Row::info(what, memory::shown(&memory.exclusive)),
    });
    rows
}
