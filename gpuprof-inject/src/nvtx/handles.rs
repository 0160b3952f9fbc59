//! Domains and registered strings, and the handles by which a program names them.
//!
//! A handle is an index plus one, so that a wrong one is nobody's and not a wrong address.

use std::collections::HashMap;
use std::sync::{OnceLock, PoisonError, RwLock, RwLockWriteGuard, TryLockError};
use std::thread;
use std::time::Duration;

use gpuprof_runtime::injection::{Domain, RangeSite};

use super::abi::Handle;

/// Domains of libraries, whose ranges are not the program's own; in upper or lower case.
const LIBRARIES: [&str; 10] = [
    "cccl", "cub", "cublas", "cudnn", "cufft", "cusolver", "cusparse", "nccl", "tsl", "xla",
];

/// Domains that are reported; the ranges of others are not.
const MAX_DOMAINS: usize = 1_024;
/// Registered strings that are kept; the ranges of others have no name.
const MAX_STRINGS: usize = 65_536;

/// Both, by their index; and the index by what it is of.
struct Named<K, V> {
    all: Vec<V>,
    indices: Option<HashMap<K, usize>>,
}

/// A registered string.
pub(super) struct RegisteredString {
    text: String,
    pushed: OnceLock<RangeSite>,
    started: OnceLock<RangeSite>,
}

/// `None`: a library's.
static DOMAINS: RwLock<Named<String, Option<&'static Domain>>> = RwLock::new(Named::NEW);
/// By the address of its domain's handle, and its text.
static STRINGS: RwLock<Named<(usize, String), &'static RegisteredString>> = RwLock::new(Named::NEW);

impl<K: std::hash::Hash + Eq, V> Named<K, V> {
    const NEW: Self = Self {
        all: Vec::new(),
        indices: None,
    };

    /// The handle of what has this key, also if it is new. Null: there is no room.
    fn handle(&mut self, key: K, max: usize, new: impl FnOnce(&K) -> V) -> Handle {
        let indices = self.indices.get_or_insert_default();
        let index = match indices.get(&key) {
            Some(index) => *index,
            None if self.all.len() >= max => return std::ptr::null_mut(),
            None => {
                self.all.push(new(&key));
                indices.insert(key, self.all.len() - 1);
                self.all.len() - 1
            }
        };
        std::ptr::without_provenance_mut(index + 1)
    }
}

/// A handle of no domain and no string.
const NONE: Handle = std::ptr::without_provenance_mut(usize::MAX);

/// Longest wait for a lock. In a forked child a thread that does not exist there may hold it.
const LOCK_TRIES: u32 = 1_000;
const LOCK_PAUSE: Duration = Duration::from_millis(1);

fn write<T>(lock: &RwLock<T>) -> Option<RwLockWriteGuard<'_, T>> {
    for _ in 0..LOCK_TRIES {
        match lock.try_write() {
            Ok(guard) => return Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => thread::sleep(LOCK_PAUSE),
        }
    }
    None
}

/// The handle of the domain of this name, the same in all modules.
pub(super) fn domain_handle(name: &str) -> Handle {
    let new = |name: &String| {
        let is_library = LIBRARIES.iter().any(|one| name.eq_ignore_ascii_case(one));
        let domain = || &*Box::leak(Box::new(Domain::new(Some(name))));
        (!is_library).then(domain)
    };
    let Some(mut domains) = write(&DOMAINS) else {
        return NONE;
    };
    let handle = domains.handle(name.to_owned(), MAX_DOMAINS, new);
    // Null would be the default domain.
    if handle.is_null() { NONE } else { handle }
}

/// The domain of a handle; null is the default one. `None` for a library's, and for no handle.
pub(super) fn domain(handle: Handle) -> Option<&'static Domain> {
    static DEFAULT: OnceLock<Domain> = OnceLock::new();
    let Some(index) = handle.addr().checked_sub(1) else {
        return Some(DEFAULT.get_or_init(|| Domain::new(None)));
    };
    let domains = DOMAINS.read().unwrap_or_else(PoisonError::into_inner);
    *domains.all.get(index)?
}

/// Keeps a string of a domain.
pub(super) fn register(domain: Handle, text: String) -> Handle {
    let new = |(_, text): &(usize, String)| {
        &*Box::leak(Box::new(RegisteredString {
            text: text.clone(),
            pushed: OnceLock::new(),
            started: OnceLock::new(),
        }))
    };
    let strings = write(&STRINGS);
    strings.map_or(NONE, |mut strings| {
        strings.handle((domain.addr(), text), MAX_STRINGS, new)
    })
}

/// The string of a handle.
pub(super) fn string(handle: Handle) -> Option<&'static RegisteredString> {
    let index = handle.addr().checked_sub(1)?;
    let strings = STRINGS.read().unwrap_or_else(PoisonError::into_inner);
    strings.all.get(index).copied()
}

impl RegisteredString {
    pub(super) fn pushed(&self, domain: &Domain) -> RangeSite {
        *self.pushed.get_or_init(|| domain.pushed(&self.text))
    }

    pub(super) fn started(&self, domain: &Domain) -> RangeSite {
        *self.started.get_or_init(|| domain.started(&self.text))
    }
}
