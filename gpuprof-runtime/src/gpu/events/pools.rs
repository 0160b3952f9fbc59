//! The contexts of the process: to which one a stream belongs, and which have ended.
//!
//! A span takes the lock at its first stream of a context; the resolver never does.

use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::CudaContext;
use parking_lot::Mutex;

use crate::driver::table::{Driver, FailedCall};
use crate::gpu::events::pool::{Context, Life};
use crate::gpu::stream::stream_ref::StreamRef;

/// The contexts of the process, as spans meet them.
#[derive(Debug)]
pub(crate) struct Contexts {
    known: Mutex<Vec<Arc<Context>>>,
}

impl Contexts {
    pub(crate) const fn new() -> Self {
        Self {
            known: Mutex::new(Vec::new()),
        }
    }

    /// The context of `stream`, whose life this is; met now if it never was.
    pub(crate) fn find_or_add(
        &self,
        driver: &Driver,
        life: Life,
        stream: &StreamRef<'_>,
    ) -> Result<Arc<Context>, FailedCall> {
        if let Some(found) = self.find(life, stream.context()) {
            return Ok(found);
        }
        self.drop_ended(driver);
        // Not under the lock: a driver that hangs must not hang other threads.
        let context = Arc::new(Context::new(driver, life, stream.context())?);
        // Another thread may have been quicker: looked up and put in under one lock, so that a life
        // has one context and one pool.
        let mut known = self.known.lock();
        if let Some(found) = find_live(&mut known, life, stream.context()) {
            drop(known);
            found.add_owner(stream.context());
            return Ok(found);
        }
        known.push(Arc::clone(&context));
        Ok(context)
    }

    /// Gives up contexts of raw handles that have ended: no owner tells. Like any other call of the
    /// driver's not under the lock.
    fn drop_ended(&self, driver: &Driver) {
        let mut lent = self.known.lock().clone();
        lent.retain(|one| one.is_lent() && one.is_alive());
        for one in lent {
            if let Err(failed) = one.check(driver, false) {
                one.count_failure(failed);
            }
        }
    }

    fn find(&self, life: Life, owner: Option<&Arc<CudaContext>>) -> Option<Arc<Context>> {
        let found = find_live(&mut self.known.lock(), life, owner)?;
        found.add_owner(owner);
        Some(found)
    }

    /// The largest event overhead measured so far, ns.
    pub(crate) fn largest_event_overhead_ns(&self, limit: Duration) -> Option<u64> {
        let known = self.known.try_lock_for(limit)?;
        let floors = known
            .iter()
            .filter_map(|context| context.event_overhead_ns());
        floors.max()
    }
}

/// That of this life, after those that are over were thrown out.
fn find_live(
    known: &mut Vec<Arc<Context>>,
    life: Life,
    owner: Option<&Arc<CudaContext>>,
) -> Option<Arc<Context>> {
    // Drops pools of contexts that have ended or cannot be used again, with their events.
    known.retain(|one| {
        let is_this = one.life() == life && life.has_number();
        !one.life().ended_before(life) && (is_this || one.is_alive() || one.may_return())
    });
    // Without the driver's numbers two lives of one address look alike: then cudarc's owner tells
    // them apart.
    let same_owner = |one: &Context| match owner {
        Some(owner) => one.belongs_to(owner),
        None => one.is_lent(),
    };
    let mut known = known.iter();
    let found = known.find(|one| one.life() == life && (life.has_number() || same_owner(one)));
    found.map(Arc::clone)
}
