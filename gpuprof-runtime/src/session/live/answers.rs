//! The answer to each request.

use std::os::unix::net::UnixStream;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::rate_limit::{self, ENDING, LOCKED};
#[cfg(feature = "trace")]
use super::recording;
use crate::collector::collector;
use crate::session::waits::LOCK_LIMIT;
use crate::session::{current_profile, write_outputs};
use gpuprof_report::live::{Request, Sent, TraceFormat};
#[cfg(feature = "trace")]
use gpuprof_report::trace::{Trace, TraceFileFormat};

/// When the program began to offer the live view.
static BEGAN: OnceLock<Instant> = OnceLock::new();

/// Begins the time that the cost of answers is compared with.
pub(super) fn begin() {
    BEGAN.get_or_init(Instant::now);
}

/// What follows the head of an answer.
pub(super) enum Answer {
    /// Nothing.
    Hello,
    /// Nothing: this is why there is no answer.
    Refused(String),
    /// One frame.
    Frame(String),
    /// A document.
    Document(Vec<u8>),
    /// A document that is made while it is sent: its text is many times as long.
    #[cfg(feature = "trace")]
    TimeLine(Box<Trace>, TraceFileFormat),
}

/// Makes the answer. `sent` is what the viewer knows.
pub(super) fn answer(request: Request, sent: &mut Sent, viewer: &UnixStream) -> Answer {
    match request {
        Request::Hello => Answer::Hello,
        Request::Changes => changes(sent),
        Request::Snapshot => snapshot(),
        Request::Trace { ms, format } => time_line(ms, format, viewer),
        _ => Answer::Refused("this version of gpuprof does not answer this request".to_owned()),
    }
}

fn changes(sent: &mut Sent) -> Answer {
    let made = rate_limit::make(|| {
        let (profile, threads) = collector().live_rows(LOCK_LIMIT)?;
        Some(sent.changes(&profile, threads))
    });
    let Some((changes, cost)) = made else {
        return Answer::Refused(ENDING.to_owned());
    };
    let Some(mut changes) = changes else {
        return Answer::Refused(LOCKED.to_owned());
    };
    let offered = BEGAN.get().map_or(Duration::ZERO, Instant::elapsed);
    changes.offered_ns = u64::try_from(offered.as_nanos()).unwrap_or(u64::MAX);
    changes.live_ns = cost.spent_ns;
    changes.next_ms = u64::try_from(cost.interval.as_millis()).unwrap_or(u64::MAX);
    Answer::Frame(changes.to_json())
}

fn snapshot() -> Answer {
    let make = || current_profile::current(LOCK_LIMIT).map(|profile| write_outputs::json(&profile));
    match rate_limit::make(make) {
        None => Answer::Refused(ENDING.to_owned()),
        Some((None, _)) => Answer::Refused(LOCKED.to_owned()),
        Some((Some(text), _)) => Answer::Document(text),
    }
}

#[cfg(feature = "trace")]
fn time_line(ms: u64, format: TraceFormat, viewer: &UnixStream) -> Answer {
    let format = match format {
        TraceFormat::Perfetto => TraceFileFormat::Perfetto,
        _ => TraceFileFormat::ChromeJson,
    };
    match recording::record(ms, viewer) {
        Ok(time_line) => Answer::TimeLine(Box::new(time_line), format),
        Err(reason) => Answer::Refused(reason.to_owned()),
    }
}

#[cfg(not(feature = "trace"))]
fn time_line(_: u64, _: TraceFormat, _: &UnixStream) -> Answer {
    Answer::Refused("the program needs the feature trace of the crate gpuprof".to_owned())
}
