//! Domains and registered strings, and the handles by which a program names them.
//!
//! A handle is an index plus one, so that a wrong one is nobody's and not a wrong address.

use std::sync::{OnceLock, PoisonError, RwLock};

use gpuprof_runtime::injection::{Domain, RangeSite};

use super::abi::Handle;

/// Domains of libraries, whose ranges are not the program's own; in any case.
const LIBRARIES: [&str; 10] = [
    "cccl", "cub", "cublas", "cudnn", "cufft", "cusolver", "cusparse", "nccl", "tsl", "xla",
];

/// Registered strings that are kept; others have no row.
const MAX_STRINGS: usize = 65_536;

struct NamedDomain {
    name: String,
    /// `None`: a library's.
    domain: Option<&'static Domain>,
}

/// A registered string.
pub(super) struct RegisteredString {
    text: String,
    pushed: OnceLock<RangeSite>,
    started: OnceLock<RangeSite>,
}

static DOMAINS: RwLock<Vec<NamedDomain>> = RwLock::new(Vec::new());
static STRINGS: RwLock<Vec<&'static RegisteredString>> = RwLock::new(Vec::new());

/// The handle of the domain of this name, the same in all modules.
pub(super) fn domain_handle(name: &str) -> Handle {
    let mut domains = DOMAINS.write().unwrap_or_else(PoisonError::into_inner);
    let known = domains.iter().position(|domain| domain.name == name);
    let index = known.unwrap_or_else(|| {
        let is_library = LIBRARIES
            .iter()
            .any(|library| name.eq_ignore_ascii_case(library));
        let new = || &*Box::leak(Box::new(Domain::new(Some(name))));
        domains.push(NamedDomain {
            name: name.to_owned(),
            domain: (!is_library).then(new),
        });
        domains.len() - 1
    });
    std::ptr::without_provenance_mut(index + 1)
}

/// The domain of a handle; null is the default one. `None` for a library's, and for no handle.
pub(super) fn domain(handle: Handle) -> Option<&'static Domain> {
    static DEFAULT: OnceLock<Domain> = OnceLock::new();
    let Some(index) = handle.addr().checked_sub(1) else {
        return Some(DEFAULT.get_or_init(|| Domain::new(None)));
    };
    let domains = DOMAINS.read().unwrap_or_else(PoisonError::into_inner);
    domains.get(index)?.domain
}

/// Keeps a string, of which a program has a limited number.
pub(super) fn register(text: String) -> Handle {
    let mut strings = STRINGS.write().unwrap_or_else(PoisonError::into_inner);
    if strings.len() >= MAX_STRINGS {
        return std::ptr::null_mut();
    }
    strings.push(Box::leak(Box::new(RegisteredString {
        text,
        pushed: OnceLock::new(),
        started: OnceLock::new(),
    })));
    std::ptr::without_provenance_mut(strings.len())
}

/// The string of a handle.
pub(super) fn string(handle: Handle) -> Option<&'static RegisteredString> {
    let index = handle.addr().checked_sub(1)?;
    let strings = STRINGS.read().unwrap_or_else(PoisonError::into_inner);
    strings.get(index).copied()
}

impl RegisteredString {
    pub(super) fn pushed(&self, domain: &Domain) -> RangeSite {
        *self.pushed.get_or_init(|| domain.pushed(&self.text))
    }

    pub(super) fn started(&self, domain: &Domain) -> RangeSite {
        *self.started.get_or_init(|| domain.started(&self.text))
    }
}
