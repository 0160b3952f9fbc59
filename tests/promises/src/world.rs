//! Where a promise is tested.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DriverError};
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

    /// Adds the elements of `from` to those of `to`.
    ///
    /// # Errors
    /// A driver error.
    fn add(&self, stream: &Arc<CudaStream>, from: &CudaSlice<f32>, to: &mut CudaSlice<f32>)
    -> Done;

    /// Lets this much time pass, in which the thread does nothing else.
    fn pass(&self, time: Duration);

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
