//! What a viewer may ask for.

use std::fmt;
use std::str;

use crate::trace::TraceFileFormat;

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
    /// In a program in standby: records this from now on, until the connection ends.
    Look(Look),
    /// After [`Look`](Self::Look): the profile of the look as JSON after `ms` more milliseconds, 1
    /// to [`MAX_TRACE_MS`]. The look is over then.
    SnapshotAfter {
        /// How long is waited, ms.
        ms: u64,
    },
    /// The time line of the next `ms` milliseconds, 1 to [`MAX_TRACE_MS`].
    Trace {
        /// How long is recorded, ms.
        ms: u64,
        /// How the time line is written.
        format: TraceFileFormat,
    },
}

/// What a viewer has a program in standby record beside calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Look {
    /// Kernels, copies and CUDA calls. What follows needs them.
    pub cupti: bool,
    /// Hardware counters.
    pub counters: bool,
    /// For what kernels wait.
    pub stalls: bool,
    /// Allocations and frees.
    pub memory: bool,
}

impl Look {
    /// What is recorded for both.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self {
            cupti: self.cupti || other.cupti,
            counters: self.counters || other.counters,
            stalls: self.stalls || other.stalls,
            memory: self.memory || other.memory,
        }
    }

    /// The parts by their names in requests, of which the first comes with each other one.
    fn parts(&mut self) -> [(&'static str, &mut bool); 4] {
        [
            ("cupti", &mut self.cupti),
            ("counters", &mut self.counters),
            ("stalls", &mut self.stalls),
            ("memory", &mut self.memory),
        ]
    }

    fn parse(text: &str) -> Option<Self> {
        let mut look = Self::default();
        let mut words = text.split(',');
        for (name, part) in look.parts() {
            if words.clone().next() == Some(name) {
                (*part, _) = (true, words.next());
            }
        }
        (words.next().is_none() && look.cupti).then_some(look)
    }
}

impl fmt::Display for Look {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut look = *self;
        let parts = look.parts().into_iter();
        let names = parts.filter_map(|(name, is_on)| is_on.then_some(name));
        f.write_str(&names.collect::<Vec<_>>().join(","))
    }
}

/// What requests call a format of time lines.
fn name(format: TraceFileFormat) -> &'static str {
    match format {
        TraceFileFormat::ChromeJson => "json",
        TraceFileFormat::Perfetto => "perfetto",
    }
}

/// The text of a frame is no request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestError;

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a request is hello, changes, snapshot, snapshot MS, look, look with a comma list that \
             begins with cupti, or trace MS json or perfetto",
        )
    }
}

impl std::error::Error for RequestError {}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hello => f.write_str("hello"),
            Self::Changes => f.write_str("changes"),
            Self::Snapshot => f.write_str("snapshot"),
            Self::Look(look) if *look == Look::default() => f.write_str("look"),
            Self::Look(look) => write!(f, "look {look}"),
            Self::SnapshotAfter { ms } => write!(f, "snapshot {ms}"),
            Self::Trace { ms, format } => write!(f, "trace {ms} {}", name(*format)),
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
            ["snapshot", ms] => Self::SnapshotAfter {
                ms: milliseconds(ms).ok_or(RequestError)?,
            },
            ["look"] => Self::Look(Look::default()),
            ["look", parts] => Self::Look(Look::parse(parts).ok_or(RequestError)?),
            ["trace", ms, format] => Self::Trace {
                ms: milliseconds(ms).ok_or(RequestError)?,
                format: [TraceFileFormat::ChromeJson, TraceFileFormat::Perfetto]
                    .into_iter()
                    .find(|known| name(*known) == format)
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
            (Request::SnapshotAfter { ms: 10_000 }, "snapshot 10000"),
            (Request::Look(Look::default()), "look"),
            (
                Request::Look(Look {
                    cupti: true,
                    stalls: true,
                    memory: true,
                    counters: false,
                }),
                "look cupti,stalls,memory",
            ),
            (
                Request::Trace {
                    ms: 5_000,
                    format: TraceFileFormat::Perfetto,
                },
                "trace 5000 perfetto",
            ),
            (
                Request::Trace {
                    ms: MAX_TRACE_MS,
                    format: TraceFileFormat::ChromeJson,
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
            "snapshot 0",
            "snapshot 600001",
            "look ",
            "look calls",
            "look counters",
            "look cupti,",
            "look cupti,memory,stalls",
            "look cupti,cupti",
            "trace  5 json",
        ] {
            assert_eq!(Request::parse(text.as_bytes()), Err(RequestError), "{text}");
        }
        assert_eq!(Request::parse(b"hell\xff"), Err(RequestError));
    }
}
