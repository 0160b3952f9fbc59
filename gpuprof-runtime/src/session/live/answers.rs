//! The answer to each request.

use std::os::unix::net::UnixStream;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::looks::{self, OpenLook};
use super::rate_limit::{self, ENDING, LOCKED};
#[cfg(feature = "trace")]
use super::recording;
use super::waiting::wait;
use crate::collector::collector;
use crate::session::waits::LOCK_LIMIT;
use crate::session::{current_profile, write_outputs};
use gpuprof_report::live::{Request, Sent};
#[cfg(feature = "trace")]
use gpuprof_report::trace::Trace;
use gpuprof_report::trace::TraceFileFormat;

const IN_STANDBY: &str = "the program is in standby and records nothing until a viewer asks for \
    it, as gpuprof snapshot --cupti --for 10s does";

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

/// What is known of a viewer.
#[derive(Default)]
pub(super) struct ViewerState {
    /// What it knows.
    sent: Sent,
    /// Of a program in standby.
    look: Option<OpenLook>,
}

/// Makes the answer.
pub(super) fn answer(request: Request, state: &mut ViewerState, viewer: &UnixStream) -> Answer {
    let needs_look = !matches!(request, Request::Hello | Request::Look(_));
    if needs_look && looks::is_in_standby() && state.look.is_none() {
        return Answer::Refused(IN_STANDBY.to_owned());
    }
    match request {
        Request::Hello => Answer::Hello,
        Request::Changes => changes(state),
        Request::Snapshot => snapshot(state.look.as_ref()),
        Request::Look(look) => {
            // One at a time.
            state.look = None;
            match OpenLook::begin(look) {
                Ok(look) => state.look = Some(look),
                Err(reason) => return Answer::Refused(reason),
            }
            Answer::Hello
        }
        Request::SnapshotAfter { ms } => snapshot_after(ms, state, viewer),
        Request::Trace { ms, format } => time_line(ms, format, viewer),
        _ => Answer::Refused("this version of gpuprof does not answer this request".to_owned()),
    }
}

fn changes(ViewerState { sent, look }: &mut ViewerState) -> Answer {
    let look = look.as_ref().map(OpenLook::number);
    let made = rate_limit::make(|| {
        let (profile, threads) = collector().live_rows(look, LOCK_LIMIT)?;
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

fn snapshot(look: Option<&OpenLook>) -> Answer {
    let current = || match look {
        Some(look) => look.profile(),
        None => current_profile::current(LOCK_LIMIT),
    };
    match rate_limit::make(|| current().map(|profile| write_outputs::json(&profile))) {
        None => Answer::Refused(ENDING.to_owned()),
        Some((None, _)) => Answer::Refused(LOCKED.to_owned()),
        Some((Some(text), _)) => Answer::Document(text),
    }
}

fn snapshot_after(ms: u64, state: &mut ViewerState, viewer: &UnixStream) -> Answer {
    let Some(look) = state.look.take() else {
        return Answer::Refused(looks::NOT_IN_STANDBY.to_owned());
    };
    if !wait(Duration::from_millis(ms), viewer) {
        return Answer::Refused(ENDING.to_owned());
    }
    match look.finish() {
        Ok(profile) => Answer::Document(write_outputs::json(&profile)),
        Err(reason) => Answer::Refused(reason.to_owned()),
    }
}

#[cfg(feature = "trace")]
fn time_line(ms: u64, format: TraceFileFormat, viewer: &UnixStream) -> Answer {
    match recording::record(ms, viewer) {
        Ok(time_line) => Answer::TimeLine(Box::new(time_line), format),
        Err(reason) => Answer::Refused(reason.to_owned()),
    }
}

#[cfg(not(feature = "trace"))]
fn time_line(_: u64, _: TraceFileFormat, _: &UnixStream) -> Answer {
    Answer::Refused("the program needs the feature trace of the crate gpuprof".to_owned())
}
