//! How other threads start the resolver, wake it, and wait for it.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use crate::gpu::driver::table::Driver;
use crate::gpu::resolver;
use crate::gpu::resolver::channel::{Progress, Sender};
use crate::gpu::timer::Timing;

impl Timing {
    /// Opens a thread's ring.
    pub(in crate::gpu) fn open_ring(&self) -> Sender {
        let (sender, progress) = Sender::open(&self.announce);
        let mut rings = self.rings.lock();
        rings.retain(|ring| ring.strong_count() > 0);
        rings.push(Arc::downgrade(&progress));
        sender
    }

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
        let Some(rings) = self.in_flight(limit) else {
            return;
        };
        let mut pause = Duration::from_micros(20);
        self.hurry.store(true, Relaxed);
        loop {
            let waited = began.elapsed();
            let samples_done = rings
                .iter()
                .all(|(ring, target)| ring.resolved() >= *target)
                || waited >= limit;
            let floors_done = !self.probing() || waited >= floor_limit;
            if (samples_done && floors_done) || Driver::get().has_ended() {
                break;
            }
            self.wake();
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(1));
        }
        self.hurry.store(false, Relaxed);
    }

    /// Every ring, and how many samples it has been given so far. The lock is released before the
    /// caller waits: a thread's first GPU span takes it.
    fn in_flight(&self, limit: Duration) -> Option<Vec<(Arc<Progress>, u64)>> {
        let rings = self.rings.try_lock_for(limit)?;
        let rings = rings.iter().filter_map(Weak::upgrade);
        Some(
            rings
                .map(|ring| (Arc::clone(&ring), ring.submitted()))
                .collect(),
        )
    }

    fn probing(&self) -> bool {
        // In this order: the resolver counts the probe before it takes the context off its list.
        self.contexts.has_new() || self.probes.is_any_open()
    }

    /// Whether everything submitted so far is resolved; false if the lock is held. Never waits.
    pub(crate) fn is_settled(&self) -> bool {
        self.in_flight(Duration::ZERO).is_some_and(|rings| {
            rings
                .iter()
                .all(|(ring, target)| ring.resolved() >= *target)
        })
    }
}
