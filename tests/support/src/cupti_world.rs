//! The simulated world with its libcupti, and what a profile reports of kernels, copies and calls.

use std::ops::Deref;
use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, DevicePtr, result};
use gpuprof::profile::{CuptiCompleteness, GpuActivity};
use gpuprof::{CuptiMode, Profile, Sampling, Session, SessionBuilder};
use simcupti::Order;

use crate::cupti_from_environment;
use crate::{World, assert_consistent, function, world_with};

/// The simulated world with its libcupti.
pub struct Tier {
    pub w: World,
    pub cupti: simcupti::Cupti,
}

impl Deref for Tier {
    type Target = World;

    fn deref(&self) -> &World {
        &self.w
    }
}

/// The world of this process with the default behaviour of libcupti, of the version in the
/// environment.
pub fn tier() -> Tier {
    tier_with(1)
}

/// The same with `devices` devices; the first call in a process decides.
pub fn tier_with(devices: u32) -> Tier {
    let w = world_with(devices);
    let cupti = cupti_from_environment::install();
    cupti.clear_failures();
    cupti.split(0);
    cupti.set_order(Order::Measured);
    cupti.launch_by_runtime(false);
    cupti.launch_per_thread(false);
    cupti.split_copies(false);
    for call in ["cuLaunchKernel", "cuStreamSynchronize", "cuGraphLaunch"] {
        w.sim.set_call_ns(call, 0);
    }
    Tier { w, cupti }
}

/// The settings of a session with CUPTI, in which every call is timed.
pub fn builder() -> SessionBuilder {
    Session::builder()
        .cupti(CuptiMode::On)
        .sampling(Sampling::EveryCall)
}

impl Tier {
    /// A session with CUPTI.
    pub fn session(&self) -> Session {
        // A launch at the time at which the window begins would belong to it.
        self.cpu(1_000);
        builder().start().expect("no other session is open")
    }

    /// Waits for the GPU and ends the session. The profile is consistent, and no record was
    /// dropped, invalid, late or unfinished, and no function is timed on the wrong stream.
    pub fn finish(&self, session: Session) -> Profile {
        let profile = self.finish_unchecked(session);
        let cupti = cupti(&profile);
        let wrong = [
            cupti.dropped_records,
            cupti.invalid_records,
            cupti.unfinished,
            cupti.late_records,
            cupti.records_without_call,
        ];
        assert_eq!(wrong, [0; 5], "{cupti:?}");
        let notes = &profile.diagnostics.notes;
        let is_wrong = notes.iter().any(|note| note.contains("wrong stream"));
        assert!(!is_wrong, "{notes:?}");
        profile
    }

    /// The same for a session in which records may be missing.
    pub fn finish_unchecked(&self, session: Session) -> Profile {
        self.synchronize();
        self.cpu(1_000);
        let profile = session.finish();
        assert_consistent(&profile);
        profile
    }
}

pub fn cupti(profile: &Profile) -> &CuptiCompleteness {
    let notes = &profile.diagnostics.notes;
    let cupti = profile.cupti.as_ref();
    cupti.unwrap_or_else(|| panic!("CUPTI is not active: {notes:?}"))
}

/// The GPU activity of the function of this name.
pub fn work<'a>(profile: &'a Profile, name: &str) -> &'a GpuActivity {
    &function(profile, name).activity
}

/// `(name, calls, time)` of each kernel of the function.
pub fn kernels<'a>(profile: &'a Profile, name: &str) -> Vec<(&'a str, u64, u64)> {
    let kernels = work(profile, name).kernels.iter();
    kernels
        .map(|kernel| {
            (
                kernel.name.as_str(),
                kernel.times.calls,
                kernel.times.total_ns,
            )
        })
        .collect()
}

/// `(busy time, outermost calls, activities, launches)` of the function of this name.
pub fn busy(profile: &Profile, name: &str) -> (u64, u64, u64, u64) {
    let activity = work(profile, name);
    let busy_ns = activity.busy_ns.expect("CUPTI ran");
    (
        busy_ns,
        activity.busy_calls,
        activity.activities,
        activity.launches,
    )
}

/// `(calls, time)` of all kernels of the program.
pub fn all_kernels(profile: &Profile) -> (u64, u64) {
    let kernels = profile.kernels.iter();
    kernels.fold((0, 0), |(calls, ns), kernel| {
        (calls + kernel.times.calls, ns + kernel.times.total_ns)
    })
}

/// Copies as many bytes to the device, on it and back, and sets them, first without waiting and
/// then with the functions that wait: 8 calls.
pub fn move_bytes(stream: &Arc<CudaStream>, device: &mut [CudaSlice<u8>; 2], bytes: usize) {
    let [first, second] = device;
    assert!(bytes <= first.len().min(second.len()));
    let mut host = vec![1_u8; bytes];
    let copied = stream.memcpy_htod(&host, &mut first.slice_mut(..bytes));
    copied.expect("copy");
    let copied = stream.memcpy_dtod(&first.slice(..bytes), &mut second.slice_mut(..bytes));
    copied.expect("copy");
    let set = stream.memset_zeros(&mut second.slice_mut(..bytes));
    set.expect("memset");
    let copied = stream.memcpy_dtoh(&first.slice(..bytes), &mut host);
    copied.expect("copy");
    let (first, second) = (first.device_ptr(stream).0, second.device_ptr(stream).0);
    // SAFETY: both allocations have as many bytes.
    unsafe { result::memcpy_htod_sync(first, &host) }.expect("copy");
    // SAFETY: as above.
    unsafe { result::memcpy_dtod_sync(second, first, bytes) }.expect("copy");
    // SAFETY: as above.
    unsafe { result::memset_d8_sync(second, 0, bytes) }.expect("memset");
    // SAFETY: as above.
    unsafe { result::memcpy_dtoh_sync(&mut host, first) }.expect("copy");
}
