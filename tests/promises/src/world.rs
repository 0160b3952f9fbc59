//! Where a promise is tested.

use std::fmt::Display;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream, DriverError};
use gpuprof::Profile;

/// The result of queuing work.
pub type Done = Result<(), DriverError>;

/// A context of a device, simulated or not, with kernels of known length.
pub trait World: Sync {
    fn context(&self) -> &Arc<CudaContext>;

    /// Launches a kernel of `ns` on `stream`.
    ///
    /// # Errors
    /// A driver error.
    fn spin(&self, stream: &Arc<CudaStream>, ns: u64) -> Done;

    /// Asserts what holds for every profile of this world.
    fn accept(&self, profile: &Profile) {
        let _ = profile;
    }

    /// Another stream of the context.
    ///
    /// # Errors
    /// A driver error as text.
    fn stream(&self) -> Result<Arc<CudaStream>, String> {
        self.context().new_stream().map_err(failed_in("a stream"))
    }
}

/// Maps an error to a message that begins with the failed operation.
pub fn failed_in<E: Display>(what: &str) -> impl Fn(E) -> String + '_ {
    move |error| format!("{what}: {error}")
}
