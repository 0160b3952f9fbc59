//! User objects, which graphs retain (programming guide, CUDA User Objects): references to them and
//! their destructors.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::abi::{Destructor, Handle};
use crate::clock;
use crate::objects::UserObject;
use crate::result_codes::Answer;
use crate::state::{self, State};

/// The length of [`State::pending_releases`], which can be read without the state lock.
static PENDING_RELEASES: AtomicUsize = AtomicUsize::new(0);

/// Runs the destructors of user objects without references; a real driver does so on a thread of
/// its own. Must be called without the state lock.
pub(crate) fn run_expired_destructors() {
    if PENDING_RELEASES.load(Ordering::Acquire) == 0 || Destructor::is_running() {
        return;
    }
    let expired = state::lock().take_expired(clock::now());
    expired.into_iter().for_each(Destructor::run);
}

impl State {
    /// A new user object with `references` of the caller.
    pub(crate) fn create_user_object(&mut self, destructor: Destructor, references: u32) -> Handle {
        self.user_objects.insert(UserObject {
            references: references as usize,
            destructor,
        })
    }

    /// Gives `graph` references to `object`: the caller's own if `moves`, else new ones.
    pub(crate) fn retain_for_graph(
        &mut self,
        graph: Handle,
        object: Handle,
        count: u32,
        moves: bool,
    ) -> Answer {
        self.user_objects.get(object)?;
        let references = (0..count).map(|_| object);
        let graph = self.graphs.get_mut(graph)?;
        graph.user_objects.extend(references);
        if moves {
            Ok(())
        } else {
            self.retain(object, count)
        }
    }

    pub(crate) fn retain(&mut self, object: Handle, count: u32) -> Answer {
        self.user_objects.get_mut(object)?.references += count as usize;
        Ok(())
    }

    /// Releases one reference to each of `objects` when the clock has reached `time`.
    pub(crate) fn release_later(&mut self, objects: Vec<Handle>, time: u64) {
        PENDING_RELEASES.fetch_add(objects.len(), Ordering::AcqRel);
        let releases = objects.into_iter().map(|object| (time, object));
        self.pending_releases.extend(releases);
    }

    fn take_expired(&mut self, now: u64) -> Vec<Destructor> {
        let (due, pending): (Vec<_>, Vec<_>) = self
            .pending_releases
            .drain(..)
            .partition(|(time, _)| *time <= now);
        self.pending_releases = pending;
        let mut expired = Vec::new();
        for (_, handle) in due {
            PENDING_RELEASES.fetch_sub(1, Ordering::AcqRel);
            let Ok(object) = self.user_objects.get_mut(handle) else {
                continue;
            };
            object.references = object.references.saturating_sub(1);
            if object.references == 0 {
                let object = self.user_objects.remove(handle);
                expired.extend(object.map(|object| object.destructor));
            }
        }
        expired
    }
}
