//! The users of the library. Before CUDA 13.3 all share what the functions of the process enable,
//! and one of them subscribes. Since then each may subscribe by `cuptiSubscribe_v2`, and enables
//! what it wants for itself.

use crate::abi::{BufferCallbacks, Callback, User};
use crate::held_buffers::Buffers;
use crate::kinds::Enabled;

/// Subscribers at the same time, a limit of the simulator's own.
pub(crate) const MAX_CLIENTS: usize = 4;

/// What a user has asked for.
pub(crate) struct Client {
    pub(crate) subscription: Option<Subscription>,
    pub(crate) callback: Option<(Callback, User)>,
    pub(crate) callbacks: Option<BufferCallbacks>,
    /// It provides zeroed buffers.
    pub(crate) zeroed: bool,
    pub(crate) enabled: Enabled,
    pub(crate) buffers: Buffers,
    /// Records dropped since it last asked.
    pub(crate) dropped: u64,
}

pub(crate) struct Subscription {
    pub(crate) name: String,
    /// What it enables is its own.
    pub(crate) is_separate: bool,
}

/// How a user subscribes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// By `cuptiSubscribe`.
    Process,
    /// By `cuptiSubscribe_v2`, with or without others.
    Subscriber { shares: bool },
}

impl Client {
    pub(crate) const fn new() -> Client {
        Client {
            subscription: None,
            callback: None,
            callbacks: None,
            zeroed: false,
            enabled: Enabled::new(),
            buffers: Buffers::new(),
            dropped: 0,
        }
    }
}
