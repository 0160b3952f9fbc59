//! Reading a JSON document of this version or an older one.

use std::fmt;
use std::io::{self, Read};

use serde::Deserialize;

use super::impossible::{self, Impossible};
use crate::profile::{Profile, SCHEMA};
use crate::sanitize;

/// Reads a document that [`write()`](super::write()) wrote, of this version or an older one.
///
/// # Errors
/// [`ReadError`], whose text says what is wrong and what to do.
pub fn read(mut from: impl Read) -> Result<Profile, ReadError> {
    let mut text = String::new();
    from.read_to_string(&mut text).map_err(ReadError::Io)?;
    from_str(&text)
}

/// Reads a document from text; see [`read`].
///
/// # Errors
/// [`ReadError`], whose text says what is wrong and what to do.
pub fn from_str(text: &str) -> Result<Profile, ReadError> {
    /// Only the format's name: another version may differ in everything else.
    #[derive(Deserialize)]
    struct Header {
        schema: Option<String>,
    }
    let header: Header = serde_json::from_str(text).map_err(ReadError::NotAProfile)?;
    match header.schema {
        Some(schema) if schema == SCHEMA => {
            let profile = serde_json::from_str(text).map_err(ReadError::NotAProfile)?;
            impossible::check(&profile).map_err(ReadError::Impossible)?;
            Ok(profile)
        }
        schema => Err(ReadError::Schema(schema)),
    }
}

/// Why a document could not be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// Reading failed, or the text is not UTF-8.
    Io(io::Error),
    /// The text is not JSON, or a field holds something else than it should.
    NotAProfile(serde_json::Error),
    /// The document is of another format or version; holds its `schema`, `None` if it has none.
    Schema(Option<String>),
    /// The document contradicts itself.
    Impossible(Impossible),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "could not read the profile: {error}"),
            Self::NotAProfile(error) => write!(
                f,
                "this is not a JSON profile of gpuprof: {error}; \
                 GPUPROF_REPORT=json=PATH writes one"
            ),
            Self::Schema(Some(schema)) if schema.starts_with(COMPARISON) => f.write_str(
                "this is a comparison, which gpuprof diff wrote; gpuprof show, diff, merge and \
                 export read profiles, which GPUPROF_REPORT=json=PATH writes",
            ),
            Self::Schema(Some(schema)) => write!(
                f,
                "the document is {}, but only {SCHEMA} can be read; \
                 use the version of gpuprof that wrote it",
                sanitize::quoted(schema, MAX_SCHEMA_CHARS)
            ),
            Self::Schema(None) => write!(
                f,
                "the document has no field \"schema\": it is not a profile of gpuprof; \
                 GPUPROF_REPORT=json=PATH writes one"
            ),
            Self::Impossible(what) => write!(
                f,
                "the profile contradicts itself: {what}; it is not as gpuprof wrote it"
            ),
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            Self::NotAProfile(error) => Some(error),
            Self::Schema(_) | Self::Impossible(_) => None,
        }
    }
}

/// The schema of a comparison, of any version.
const COMPARISON: &str = "gpuprof.comparison/";

/// How much of a foreign schema's name an error repeats.
const MAX_SCHEMA_CHARS: usize = 60;

#[cfg(test)]
mod tests {
    use super::from_str;

    fn error(text: &str) -> String {
        from_str(text).unwrap_err().to_string()
    }

    #[test]
    fn a_document_with_missing_fields_reads_as_defaults() {
        let profile = from_str(r#"{"schema": "gpuprof.profile/1", "pid": 7}"#).unwrap();
        assert_eq!((profile.pid, profile.functions.len()), (7, 0));
    }

    #[test]
    fn an_error_says_what_is_wrong_and_what_to_do() {
        assert_eq!(
            error(r#"{"schema": "gpuprof.profile/2", "pid": "seven"}"#),
            "the document is \"gpuprof.profile/2\", but only gpuprof.profile/1 can be read; \
             use the version of gpuprof that wrote it"
        );
        assert_eq!(
            error(r#"{"schema": "gpuprof.comparison/1"}"#),
            "this is a comparison, which gpuprof diff wrote; gpuprof show, diff, merge and export \
             read profiles, which GPUPROF_REPORT=json=PATH writes"
        );
        assert_eq!(
            error("{}"),
            "the document has no field \"schema\": it is not a profile of gpuprof; \
             GPUPROF_REPORT=json=PATH writes one"
        );
        assert_eq!(
            error(r#"{"schema": "gpuprof.profile/1", "pid": "seven"}"#),
            "this is not a JSON profile of gpuprof: invalid type: string \"seven\", \
             expected u32 at line 1 column 46; GPUPROF_REPORT=json=PATH writes one"
        );
        assert!(error("traceEvents").starts_with("this is not a JSON profile of gpuprof: "));
    }
}
