//! Calls of the simulated driver.

use simcuda::Device;

/// Calls since the driver was loaded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DriverCalls {
    here: u64,
    all: u64,
}

/// Those of the calling thread and of all threads.
///
/// # Errors
/// The device is a real one.
pub(crate) fn so_far() -> Result<DriverCalls, String> {
    let Device::Simulated(sim) = simcuda::real_or_simulated() else {
        return Err("driver calls are counted on the simulated device alone".to_owned());
    };
    let by_symbol = sim.calls_by_symbol();
    Ok(DriverCalls {
        here: by_symbol.iter().map(|(name, _)| sim.calls_here(name)).sum(),
        all: by_symbol.iter().map(|(_, count)| count).sum(),
    })
}

impl DriverCalls {
    /// Those since an earlier moment: of this thread, and of all others.
    pub(crate) fn since(self, earlier: Self) -> [u64; 2] {
        let here = self.here.saturating_sub(earlier.here);
        let all = self.all.saturating_sub(earlier.all);
        [here, all.saturating_sub(here)]
    }
}
