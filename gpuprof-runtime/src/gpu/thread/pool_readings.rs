//! Reads the pool of a call's device at its start and at its end.

use crate::driver::table::Driver;
use crate::gpu::thread::frame::OpenSpan;
use crate::gpu::thread::gpu_thread::GpuThread;
use crate::gpu::timing::Timing;

impl Timing {
    /// Reads the pool at the start of a call that is timed and is the outermost such one. Its
    /// stream is not being captured, since its event was recorded.
    #[cold]
    pub(super) fn read_pool_at_start(&self, thread: &GpuThread, open: &mut OpenSpan) {
        let [stream] = &*open.streams else { return };
        if !open.is_async && thread.is_outermost() {
            let device = stream.shared.context.device;
            open.pool = self.pools.read(Driver::get(), device);
        }
    }

    /// Reads it again at the end.
    #[cold]
    pub(super) fn read_pool_at_end(&self, open: &mut OpenSpan) {
        let (Some(before), [stream]) = (open.pool.take(), &*open.streams) else {
            return;
        };
        let device = stream.shared.context.device;
        if let Some(after) = self.pools.read(Driver::get(), device) {
            let call = (open.path, open.epoch, device);
            self.pools.count(call, before, after);
        }
    }
}
