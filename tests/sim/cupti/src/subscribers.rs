//! Who may subscribe, and whom each function serves.

use crate::clients::{Access, Client, Subscription};
use crate::record_sizes::Version;
use crate::result_codes::{Answer, Code};
use crate::state::State;

/// The `CUpti_SubscriberHandle` of the first slot.
const FIRST_HANDLE: usize = 0x5afe;

impl State {
    /// Subscribes; returns the slot, or the code and the name of the subscriber because of which it
    /// fails.
    pub(crate) fn subscribe(
        &mut self,
        access: Access,
        name: &str,
    ) -> Result<usize, (Code, String)> {
        // A version that has only one kind of subscriber.
        let access = match access {
            Access::Subscriber { .. } if self.version < Version::Cuda13_3 => Access::Process,
            access => access,
        };
        let holder = self
            .clients
            .iter()
            .find_map(|client| client.subscription.as_ref());
        let is_admitted = match (access, holder) {
            // Also once the subscriber of the newer functions has left.
            (Access::Process, _) if self.is_shared.is_some() => false,
            (Access::Subscriber { shares }, _)
                if self.is_shared.is_some_and(|is_shared| is_shared != shares) =>
            {
                false
            }
            (_, None) => true,
            (Access::Process, Some(_)) => false,
            (Access::Subscriber { shares }, Some(holder)) => shares && holder.is_separate,
        };
        let free = self
            .clients
            .iter()
            .position(|client| client.subscription.is_none());
        let Some(slot) = free.filter(|_| is_admitted) else {
            let name = holder.map_or_else(String::new, |holder| holder.name.clone());
            return Err((Code::MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, name));
        };
        let is_separate = match access {
            Access::Process => false,
            Access::Subscriber { shares } => {
                self.is_shared = Some(shares);
                self.clients[slot] = Client::new();
                true
            }
        };
        self.clients[slot].subscription = Some(Subscription {
            name: name.to_owned(),
            is_separate,
        });
        Ok(slot)
    }

    /// Of a subscriber of the newer functions nothing is left, and its buffers are not returned.
    /// What the functions of the process enabled stays, and buffers are still delivered.
    pub(crate) fn unsubscribe(&mut self, handle: usize) -> Answer {
        let slot = self.slot(handle)?;
        let client = &mut self.clients[slot];
        let left = client.subscription.take();
        client.callback = None;
        if left.is_some_and(|left| left.is_separate) {
            *client = Client::new();
        }
        if self
            .clients
            .iter()
            .all(|client| client.subscription.is_none())
        {
            self.correlation = 0;
            self.ended_subscriptions += 1;
        }
        Ok(())
    }

    /// INVALID_PARAMETER if it is not subscribed.
    pub(crate) fn slot(&self, handle: usize) -> Answer<usize> {
        let slot = handle
            .checked_sub(FIRST_HANDLE)
            .ok_or(Code::INVALID_PARAMETER)?;
        let client = self.clients.get(slot).ok_or(Code::INVALID_PARAMETER)?;
        match client.subscription {
            Some(_) => Ok(slot),
            None => Err(Code::INVALID_PARAMETER),
        }
    }

    /// Whom the functions of the process serve: MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED once
    /// `cuptiSubscribe_v2` was used.
    pub(crate) fn process(&mut self) -> Answer<&mut Client> {
        match self.is_shared {
            None => Ok(&mut self.clients[0]),
            Some(_) => Err(Code::MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED),
        }
    }

    /// Whom the functions of a subscriber serve: NOT_SUPPORTED before CUDA 13.3, where a real
    /// library lacks them, INVALID_PARAMETER for others.
    pub(crate) fn subscriber(&mut self, handle: usize) -> Answer<&mut Client> {
        if self.version < Version::Cuda13_3 {
            return Err(Code::NOT_SUPPORTED);
        }
        let slot = self.slot(handle)?;
        let client = &mut self.clients[slot];
        match &client.subscription {
            Some(subscription) if subscription.is_separate => Ok(client),
            _ => Err(Code::INVALID_PARAMETER),
        }
    }

    /// Whether nothing needs the driver's calls.
    pub(crate) fn is_idle(&self) -> bool {
        self.clients.iter().all(|client| client.enabled.is_empty()) && self.pc_sampling.is_empty()
    }
}

/// The handle of the subscriber in a slot.
pub(crate) fn handle(slot: usize) -> usize {
    FIRST_HANDLE + slot
}
