//! What a benchmarked closure may return.

use std::fmt::Debug;

/// What a benchmarked closure may return.
pub trait ClosureReturn {
    /// Whether the call succeeded.
    ///
    /// # Errors
    /// What the closure returned, as text.
    fn into_result(self) -> Result<(), String>;
}

impl ClosureReturn for () {
    fn into_result(self) -> Result<(), String> {
        Ok(())
    }
}

impl<T, E: Debug> ClosureReturn for Result<T, E> {
    fn into_result(self) -> Result<(), String> {
        self.map(drop).map_err(|error| format!("{error:?}"))
    }
}
