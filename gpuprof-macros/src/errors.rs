//! Collects the errors of one attribute, so that all of them are reported at once.

use proc_macro2::TokenStream;
use syn::{Error, Result};

#[derive(Default)]
pub(crate) struct Errors(Option<Error>);

impl Errors {
    pub(crate) fn push(&mut self, error: Error) {
        match &mut self.0 {
            Some(all) => all.combine(error),
            none => *none = Some(error),
        }
    }

    /// The value; or `None`, and the error is recorded.
    pub(crate) fn record<T>(&mut self, result: Result<T>) -> Option<T> {
        result.map_err(|error| self.push(error)).ok()
    }

    /// # Errors
    /// All that were recorded, as one.
    pub(crate) fn into_result(self) -> Result<()> {
        self.0.map_or(Ok(()), Err)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The item, followed by a compile error for each error. The item is still emitted, so that
    /// code that uses it does not fail as well.
    pub(crate) fn append_to(self, item: TokenStream) -> TokenStream {
        let mut tokens = item;
        tokens.extend(self.0.map(|errors| errors.to_compile_error()));
        tokens
    }
}
