//! Collects what is wrong with one attribute, so that all of it is reported at once. Knows nothing of what is parsed.

use proc_macro2::TokenStream;
use syn::{Error, Result};

/// Everything found wrong so far.
#[derive(Default)]
pub(crate) struct Mistakes(Option<Error>);

impl Mistakes {
    pub(crate) fn push(&mut self, error: Error) {
        match &mut self.0 {
            Some(all) => all.combine(error),
            none => *none = Some(error),
        }
    }

    /// The value, or `None` and one mistake more.
    pub(crate) fn take<T>(&mut self, result: Result<T>) -> Option<T> {
        result.map_err(|error| self.push(error)).ok()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The item with a compile error for each mistake after it: the item stays, so nothing that uses it fails as well.
    pub(crate) fn beside(self, item: TokenStream) -> TokenStream {
        let mut tokens = item;
        tokens.extend(self.0.map(|errors| errors.to_compile_error()));
        tokens
    }
}
