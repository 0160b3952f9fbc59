//! The simulated libcupti beside the simulated driver, and what a profile tells of kernels, copies
//! and calls.

use std::ops::Deref;

use gpuprof::profile::{Cupti, GpuActivity};
use gpuprof::{Profile, Session, SessionBuilder};
use simcupti::Order;

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

/// Takes the world for this test, with nothing out of the ordinary.
pub fn tier() -> Tier {
    tier_with(1)
}

/// The same with so many devices; the first call of the process decides.
pub fn tier_with(devices: u32) -> Tier {
    let w = world_with(devices);
    let cupti = simcupti::install().expect("the simulated libcupti is built");
    cupti.clear_failures();
    cupti.split(0);
    cupti.set_order(Order::Measured);
    cupti.launch_by_runtime(false);
    for call in ["cuLaunchKernel", "cuStreamSynchronize", "cuGraphLaunch"] {
        w.sim.set_call_ns(call, 0);
    }
    Tier { w, cupti }
}

/// A session that is to know of kernels, to be built further.
pub fn builder() -> SessionBuilder {
    Session::builder().cupti(true)
}

impl Tier {
    /// A session that knows of kernels.
    pub fn session(&self) -> Session {
        // What was launched at the very moment at which a window begins is in it.
        self.cpu(1_000);
        builder().start().expect("no other session is open")
    }

    /// Lets the GPU finish.
    pub fn settle(&self) {
        self.gpu.context.synchronize().expect("synchronize");
    }

    /// Lets the GPU finish and ends the session. The profile is sound, and nothing was dropped,
    /// late or left over.
    pub fn finish(&self, session: Session) -> Profile {
        let profile = self.finish_whatever(session);
        let cupti = cupti(&profile);
        let wrong = [
            cupti.dropped_records,
            cupti.invalid_records,
            cupti.unfinished,
            cupti.late_records,
        ];
        assert_eq!(wrong, [0; 4], "{cupti:?}");
        profile
    }

    /// The same for a session in which something went wrong.
    pub fn finish_whatever(&self, session: Session) -> Profile {
        self.settle();
        self.cpu(1_000);
        let profile = session.finish();
        assert_consistent(&profile);
        profile
    }
}

pub fn cupti(profile: &Profile) -> &Cupti {
    let notes = &profile.diagnostics.notes;
    let told = profile.cupti.as_ref();
    told.unwrap_or_else(|| panic!("CUPTI does not run: {notes:?}"))
}

/// What CUPTI saw of the function of this name.
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

/// `(busy time, outermost calls, activities, launches)` of the function.
pub fn busy(profile: &Profile, name: &str) -> (u64, u64, u64, u64) {
    let work = work(profile, name);
    let busy_ns = work.busy_ns.expect("CUPTI ran");
    (busy_ns, work.busy_calls, work.activities, work.launches)
}

/// `(calls, time)` of all kernels of the program.
pub fn all_kernels(profile: &Profile) -> (u64, u64) {
    let kernels = profile.kernels.iter();
    kernels.fold((0, 0), |(calls, ns), kernel| {
        (calls + kernel.times.calls, ns + kernel.times.total_ns)
    })
}
