//! A kernel's symbol, and the name that it stands for.

use std::borrow::Borrow;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Compares, hashes and prints as its symbol. A copy shares the texts.
#[derive(Clone, Debug)]
pub(crate) struct KernelSymbol(Arc<Texts>);

#[derive(Debug)]
struct Texts {
    symbol: Box<str>,
    /// `None` if it is the symbol.
    full_name: Option<Box<str>>,
}

/// Stack that making a [`KernelSymbol`] needs at most, in bytes.
#[cfg(feature = "cupti")]
pub(super) const STACK_BYTES: usize = gpuprof_report::demangle::STACK_BYTES;
#[cfg(not(feature = "cupti"))]
pub(super) const STACK_BYTES: usize = 2 << 20;

impl KernelSymbol {
    /// The name in the module.
    pub(crate) fn as_str(&self) -> &str {
        &self.0.symbol
    }

    /// The demangled name; without the feature `cupti` the symbol.
    pub(crate) fn full_name(&self) -> &str {
        self.0.full_name.as_deref().unwrap_or(&self.0.symbol)
    }
}

impl From<&str> for KernelSymbol {
    fn from(symbol: &str) -> Self {
        #[cfg(feature = "cupti")]
        let full = Some(gpuprof_report::demangle::full(symbol));
        #[cfg(not(feature = "cupti"))]
        let full: Option<String> = None;
        Self(Arc::new(Texts {
            symbol: symbol.into(),
            full_name: full.filter(|full| full != symbol).map(String::into),
        }))
    }
}

impl PartialEq for KernelSymbol {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.as_str() == other.as_str()
    }
}

impl Eq for KernelSymbol {}

impl Hash for KernelSymbol {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl Borrow<str> for KernelSymbol {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}
