//! The devices' default stream-ordered pools: how their use changes during outermost calls, and how
//! much they hold.
//!
//! Only the driver's counters are read, which costs a timed call eight more driver calls. A
//! pool's peak is never set back: it belongs to the program.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use crate::driver::handles::MemPool;
use crate::driver::table::{Driver, Failed};
use crate::stats::by_window::{Begins, ByWindow, Since, WindowSum};
use crate::stats::gpu_totals::add_pool_memory;
use gpuprof_report::profile::PoolMemory;

/// How long a call waits for another thread, which holds the lock for nanoseconds. In a forked
/// child it may be held forever.
const LOCK_LIMIT: Duration = Duration::from_millis(1);

/// By call path.
pub(crate) type PoolTotals = FxHashMap<u32, PoolMemory>;

impl WindowSum for PoolTotals {
    fn merge(&mut self, other: &Self) {
        for (path, more) in other {
            add_pool_memory(self.entry(*path).or_default(), more);
        }
    }
}

/// What is known of the pools.
#[derive(Debug, Default)]
pub(crate) struct Pools {
    is_watched: AtomicBool,
    /// Numbers of the latest request for the states of all pools, and of the latest that the
    /// resolver has answered.
    requested: AtomicU64,
    answered: AtomicU64,
    totals: Mutex<ByWindow<PoolTotals>>,
    known: Mutex<BTreeMap<u32, KnownPool>>,
}

/// The pool of a device.
#[derive(Clone, Copy, Debug)]
struct KnownPool {
    pool: MemPool,
    latest: PoolState,
    /// The peak after the latest call that raised it, and the call's path.
    raised: Option<(u64, u32)>,
}

/// Bytes of a pool that are in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PoolUse {
    pub(crate) bytes: u64,
    /// The most since the process began.
    pub(crate) peak_bytes: u64,
}

/// What a pool uses and holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PoolState {
    pub(crate) used: PoolUse,
    /// Bytes that it holds, freed memory included; `None` if that was not read.
    pub(crate) reserved: Option<PoolUse>,
    /// The call path that reached the peak, if a watched call did.
    pub(crate) peak_path: Option<u32>,
}

impl Pools {
    /// Whether calls read the pool of their device from now on.
    pub(crate) fn watch(&self, is_watched: bool) {
        self.is_watched.store(is_watched, Relaxed);
    }

    #[inline]
    pub(super) fn is_watched(&self) -> bool {
        self.is_watched.load(Relaxed)
    }

    pub(super) fn totals_since(&self, since: Since, limit: Duration) -> Option<PoolTotals> {
        Some(self.totals.try_lock_for(limit)?.copy(since).into_sum())
    }

    pub(super) fn begin_window(&self, window: u32, begins: Begins) -> Option<PoolTotals> {
        self.totals.lock().begin(window, begins)
    }

    /// The pool of a device; `None` if it has none, or the lock is held.
    fn of(&self, driver: &Driver, device: u32) -> Option<MemPool> {
        let known = self.known.try_lock_for(LOCK_LIMIT)?.get(&device).copied();
        if let Some(known) = known {
            return (known.pool != MemPool::NULL).then_some(known.pool);
        }
        // Asked once, also where the answer is an error.
        let pool = driver.default_mem_pool(device).unwrap_or(MemPool::NULL);
        let made = KnownPool {
            pool,
            latest: PoolState::default(),
            raised: None,
        };
        self.known
            .try_lock_for(LOCK_LIMIT)?
            .entry(device)
            .or_insert(made);
        (pool != MemPool::NULL).then_some(pool)
    }

    /// How much of a device's pool is in use now. In RELAXED capture mode: the counters may not be
    /// read while another thread captures.
    pub(super) fn read(&self, driver: &Driver, device: u32) -> Option<PoolUse> {
        driver
            .relaxed(|| {
                let pool = self.of(driver, device)?;
                driver.pool_used(pool).ok()
            })
            .ok()?
    }

    /// Counts an ended call, by its path, window and device.
    pub(super) fn count(
        &self,
        (path, epoch, device): (u32, u32, u32),
        before: PoolUse,
        after: PoolUse,
    ) {
        let growth = after.peak_bytes.saturating_sub(before.peak_bytes);
        if let Some(mut known) = self.known.try_lock_for(LOCK_LIMIT)
            && let Some(pool) = known.get_mut(&device)
        {
            pool.latest.used = after;
            if growth > 0 {
                pool.raised = Some((after.peak_bytes, path));
            }
        }
        let Some(mut totals) = self.totals.try_lock_for(LOCK_LIMIT) else {
            return;
        };
        if let Some(totals) = totals.get_mut(epoch) {
            let of_path = totals.entry(path).or_default();
            of_path.calls += 1;
            of_path.grown_bytes += after.bytes.saturating_sub(before.bytes);
            of_path.shrunk_bytes += before.bytes.saturating_sub(after.bytes);
            of_path.peak_growth_bytes += growth;
        }
    }

    /// Asks the resolver for the states of all pools. The driver is called on its thread alone: a
    /// thread that ends the process may have no thread-locals any more, which tools that watch the
    /// driver's calls may need.
    pub(super) fn request(&self) -> u64 {
        self.requested.fetch_add(1, Relaxed) + 1
    }

    pub(super) fn has_answered(&self, request: u64) -> bool {
        self.answered.load(Relaxed) >= request
    }

    /// Whether a request is open.
    pub(super) fn is_asked(&self) -> bool {
        !self.has_answered(self.requested.load(Relaxed))
    }

    /// Reads the states of the pools of `devices`, which have a living context. Only for the
    /// resolver, in RELAXED capture mode.
    pub(super) fn answer(&self, driver: &Driver, devices: &[u32]) {
        let request = self.requested.load(Relaxed);
        for device in devices {
            let Some(pool) = self.of(driver, *device) else {
                continue;
            };
            if let Ok(used) = driver.pool_used(pool) {
                let reserved = driver.pool_reserved(pool).ok();
                if let Some(known) = self.known.lock().get_mut(device) {
                    (known.latest.used, known.latest.reserved) = (used, reserved);
                }
            }
        }
        // A context that has ended has freed its memory.
        for (device, known) in &mut *self.known.lock() {
            if !devices.contains(device) {
                known.latest.used.bytes = 0;
                let reserved = known.latest.reserved.as_mut();
                reserved.into_iter().for_each(|pool| pool.bytes = 0);
            }
        }
        self.answered.store(request, Relaxed);
    }

    /// The latest known state of each device's pool, by ordinal; `None` if the lock was held for
    /// longer than `limit`.
    pub(crate) fn states(&self, limit: Duration) -> Option<Vec<(u32, PoolState)>> {
        let known = self.known.try_lock_for(limit)?;
        let known = known
            .iter()
            .filter(|(_, known)| known.pool != MemPool::NULL);
        let states = known.map(|(device, known)| {
            let mut state = known.latest;
            let is_latest = |(peak, _): &(u64, u32)| *peak == state.used.peak_bytes;
            state.peak_path = known.raised.filter(is_latest).map(|(_, path)| path);
            (*device, state)
        });
        Some(states.collect())
    }
}

impl Driver {
    /// The default pool of a device.
    fn default_mem_pool(&self, device: u32) -> Result<MemPool, Failed> {
        use crate::driver::handles::Device;

        let mut pool = MemPool::NULL;
        self.device_get_default_mem_pool(&raw mut pool, Device(device.cast_signed()))?;
        Ok(pool)
    }

    fn pool_used(&self, pool: MemPool) -> Result<PoolUse, Failed> {
        self.pool_use(pool, [attribute::USED_CURRENT, attribute::USED_HIGH])
    }

    fn pool_reserved(&self, pool: MemPool) -> Result<PoolUse, Failed> {
        self.pool_use(
            pool,
            [attribute::RESERVED_CURRENT, attribute::RESERVED_HIGH],
        )
    }

    fn pool_use(&self, pool: MemPool, [now, most]: [i32; 2]) -> Result<PoolUse, Failed> {
        let read = |attribute| {
            let mut bytes = 0;
            self.mem_pool_get_attribute(pool, attribute, &raw mut bytes)?;
            Ok(bytes)
        };
        Ok(PoolUse {
            bytes: read(now)?,
            peak_bytes: read(most)?,
        })
    }
}

/// `CUmemPool_attribute` values; each is of a `cuuint64_t`.
mod attribute {
    pub(super) const RESERVED_CURRENT: i32 = 5;
    pub(super) const RESERVED_HIGH: i32 = 6;
    pub(super) const USED_CURRENT: i32 = 7;
    pub(super) const USED_HIGH: i32 = 8;
}
