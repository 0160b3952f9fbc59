//! What a viewer may ask for.

use std::fmt;
use std::str;

/// The longest request, bytes.
pub const MAX_REQUEST_BYTES: usize = 4 << 10;

/// The longest time that a time line may be asked for, ms: ten minutes.
pub const MAX_TRACE_MS: u64 = 600_000;

/// A viewer's request. Its [`Display`](fmt::Display) is the text that is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Request {
    /// Which program is this, and which protocol does it speak?
    Hello,
    /// The counters that have changed since this connection's last request of this kind.
    Changes,
    /// The whole profile as JSON.
    Snapshot,
    /// The time line of the next `ms` milliseconds, 1 to [`MAX_TRACE_MS`].
    Trace {
        /// How long is recorded, ms.
        ms: u64,
        /// How the time line is written.
        format: TraceFormat,
    },
}

/// The formats of a time line, by the names that requests have for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TraceFormat {
    /// Chrome's JSON.
    Json,
    /// Perfetto's messages.
    Perfetto,
}

impl TraceFormat {
    fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Perfetto => "perfetto",
        }
    }
}

/// The text of a frame is no request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestError;

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a request is hello, changes, snapshot, or trace MS json or perfetto")
    }
}

impl std::error::Error for RequestError {}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hello => f.write_str("hello"),
            Self::Changes => f.write_str("changes"),
            Self::Snapshot => f.write_str("snapshot"),
            Self::Trace { ms, format } => write!(f, "trace {ms} {}", format.name()),
        }
    }
}

impl Request {
    /// Reads a frame's text.
    ///
    /// # Errors
    /// [`RequestError`] for any text that [`Display`](fmt::Display) does not write.
    pub fn parse(text: &[u8]) -> Result<Self, RequestError> {
        let text = str::from_utf8(text).map_err(|_| RequestError)?;
        let words: Vec<&str> = text.splitn(4, ' ').collect();
        let request = match *words {
            ["hello"] => Self::Hello,
            ["changes"] => Self::Changes,
            ["snapshot"] => Self::Snapshot,
            ["trace", ms, format] => Self::Trace {
                ms: milliseconds(ms).ok_or(RequestError)?,
                format: [TraceFormat::Json, TraceFormat::Perfetto]
                    .into_iter()
                    .find(|known| known.name() == format)
                    .ok_or(RequestError)?,
            },
            _ => return Err(RequestError),
        };
        Ok(request)
    }
}

/// A plain number from 1 to [`MAX_TRACE_MS`].
fn milliseconds(text: &str) -> Option<u64> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    let ms = text.parse().ok().filter(|_| is_plain)?;
    (1..=MAX_TRACE_MS).contains(&ms).then_some(ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        for (request, text) in [
            (Request::Hello, "hello"),
            (Request::Changes, "changes"),
            (Request::Snapshot, "snapshot"),
            (
                Request::Trace {
                    ms: 5_000,
                    format: TraceFormat::Perfetto,
                },
                "trace 5000 perfetto",
            ),
            (
                Request::Trace {
                    ms: MAX_TRACE_MS,
                    format: TraceFormat::Json,
                },
                "trace 600000 json",
            ),
        ] {
            assert_eq!(request.to_string(), text);
            assert_eq!(Request::parse(text.as_bytes()), Ok(request));
        }
    }

    #[test]
    fn everything_else_is_refused() {
        for text in [
            "",
            " ",
            "Hello",
            "hello ",
            "hello\n",
            "hello hello",
            "trace",
            "trace 5000",
            "trace 0 json",
            "trace 05 json",
            "trace +5 json",
            "trace 600001 json",
            "trace 99999999999999999999999 json",
            "trace 5 html",
            "trace 5 json ",
            "trace  5 json",
        ] {
            assert_eq!(Request::parse(text.as_bytes()), Err(RequestError), "{text}");
        }
        assert_eq!(Request::parse(b"hell\xff"), Err(RequestError));
    }
}
