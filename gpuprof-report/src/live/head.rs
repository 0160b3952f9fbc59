//! The first frame of each answer.

#[cfg(feature = "serde")]
use serde::de::DeserializeOwned;

use crate::figures::figures;
use crate::json_writer;

/// Name and version of the protocol. Fields may be added under the same version; viewers ignore
/// those that they do not know.
pub const PROTOCOL: &str = "gpuprof.live/1";

figures! {
    /// The first frame of an answer.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct Head {
        /// [`PROTOCOL`].
        pub protocol: String;
        /// File name of the program.
        pub program: String;
        /// Process id.
        pub pid: u32;
        /// It is in standby: it records what viewers ask for by `look`.
        pub standby: bool, unless default;
        /// Why there is no answer; `None` if there is one.
        pub error: Option<String>, unless default;
    }
}

impl Head {
    /// That of an answer of this program.
    pub fn new(program: &str, pid: u32) -> Self {
        Self {
            protocol: PROTOCOL.to_owned(),
            program: program.to_owned(),
            pid,
            standby: false,
            error: None,
        }
    }

    /// The same of a program in standby, or of one that is not.
    pub fn in_standby(mut self, standby: bool) -> Self {
        self.standby = standby;
        self
    }

    /// The same with a refusal.
    pub fn with_error(mut self, error: &str) -> Self {
        self.error = Some(error.to_owned());
        self
    }

    /// The frame's content.
    #[must_use]
    pub fn to_json(&self) -> String {
        json_writer::document(self)
    }
}

/// A frame that is no JSON of the expected kind.
#[cfg(feature = "serde")]
#[derive(Debug)]
pub struct UnreadableAnswer(serde_json::Error);

#[cfg(feature = "serde")]
impl std::fmt::Display for UnreadableAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the program's answer is not understood: {}", self.0)
    }
}

#[cfg(feature = "serde")]
impl std::error::Error for UnreadableAnswer {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

/// Reads a frame of JSON: a [`Head`] or [`Changes`](super::Changes).
///
/// # Errors
/// [`UnreadableAnswer`] if it is something else.
#[cfg(feature = "serde")]
pub fn from_json<T: DeserializeOwned>(frame: &[u8]) -> Result<T, UnreadableAnswer> {
    serde_json::from_slice(frame).map_err(UnreadableAnswer)
}
