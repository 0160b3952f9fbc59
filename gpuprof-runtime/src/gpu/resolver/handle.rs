//! How other threads start the resolver, wake it, and wait for it.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use crate::driver::table::Driver;
use crate::gpu::events::thread_stream::ThreadStream;
use crate::gpu::resolver;
use crate::gpu::timing::Timing;

impl Timing {
    #[inline]
    pub(in crate::gpu) fn has_resolver(&'static self) -> bool {
        let resolver = self.resolver.get_or_init(|| resolver::thread::spawn(self));
        resolver.is_some() && !self.refused.load(Relaxed)
    }

    pub(in crate::gpu) fn wake(&self) {
        if let Some(Some(resolver)) = self.resolver.get() {
            resolver.unpark();
        }
    }

    /// Waits until everything submitted so far is resolved, at most `limit`.
    pub(crate) fn wait(&self, limit: Duration) {
        if !matches!(self.resolver.get(), Some(Some(_))) {
            return;
        }
        // Elapsed time instead of a deadline, which overflows for a very long limit.
        let began = Instant::now();
        // A missing event overhead must not keep the program from ending.
        let floor_limit = limit.min(Duration::from_millis(100));
        let Some(targets) = self.unresolved_targets(limit) else {
            return;
        };
        let mut pause = Duration::from_micros(20);
        self.hurry.store(true, Relaxed);
        loop {
            let waited = began.elapsed();
            let spans_done = targets.iter().all(ResolveTarget::is_reached) || waited >= limit;
            let floors_done = !self.probing() || waited >= floor_limit;
            if (spans_done && floors_done) || self.cannot_read() {
                break;
            }
            self.wake();
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(1));
        }
        self.hurry.store(false, Relaxed);
    }

    /// Every thread's stream, and how many spans have ended there so far. The lock is released
    /// before the caller waits: a thread's first GPU span takes it.
    fn unresolved_targets(&self, limit: Duration) -> Option<Vec<ResolveTarget>> {
        let streams = self.streams.try_lock_for(limit)?;
        let streams = streams.iter().filter_map(Weak::upgrade);
        Some(streams.map(ResolveTarget::new).collect())
    }

    fn cannot_read(&self) -> bool {
        self.refused.load(Relaxed) || Driver::get().has_ended()
    }

    /// Whether a device or an event overhead is still to be read.
    fn probing(&self) -> bool {
        self.has_new_streams() || self.probes.is_any_open()
    }
}

/// How far the resolver is to come with the spans of one thread's stream.
struct ResolveTarget {
    stream: Arc<ThreadStream>,
    submitted: [u64; 2],
}

impl ResolveTarget {
    fn new(stream: Arc<ThreadStream>) -> Self {
        let progress = [&stream.progress, &stream.progress_elsewhere];
        let submitted = progress.map(|progress| progress.submitted());
        Self { stream, submitted }
    }

    fn is_reached(&self) -> bool {
        let progress = [&self.stream.progress, &self.stream.progress_elsewhere];
        let mut each = progress.into_iter().zip(self.submitted);
        each.all(|(progress, submitted)| progress.resolved() >= submitted)
    }
}
