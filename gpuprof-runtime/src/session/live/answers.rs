//! The answer to each request.

use super::budget;
use crate::collector::collector;
use crate::session::waits::LOCK_LIMIT;
use crate::session::{current_profile, write_outputs};
use gpuprof_report::live::{Request, Sent};

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
}

/// No lock was free, because another thread makes a profile or was stopped while it held one.
const LOCKED: &str = "the measurements are locked; try again";
const ENDING: &str = "the program ends";

/// Makes the answer. `sent` is what the viewer knows.
pub(super) fn answer(request: Request, sent: &mut Sent) -> Answer {
    match request {
        Request::Hello => Answer::Hello,
        Request::Changes => changes(sent),
        Request::Snapshot => snapshot(),
        _ => Answer::Refused("this version of gpuprof does not answer this request".to_owned()),
    }
}

fn changes(sent: &mut Sent) -> Answer {
    let made = budget::make(|| {
        let (profile, threads) = collector().live_rows(LOCK_LIMIT)?;
        Some(sent.changes(&profile, threads))
    });
    let Some((changes, cost)) = made else {
        return Answer::Refused(ENDING.to_owned());
    };
    let Some(mut changes) = changes else {
        return Answer::Refused(LOCKED.to_owned());
    };
    changes.live_ns = u64::try_from(cost.spent.as_nanos()).unwrap_or(u64::MAX);
    changes.next_ms = u64::try_from(cost.interval.as_millis()).unwrap_or(u64::MAX);
    Answer::Frame(changes.to_json())
}

fn snapshot() -> Answer {
    let make = || current_profile::current(LOCK_LIMIT).map(|profile| write_outputs::json(&profile));
    match budget::make(make) {
        None => Answer::Refused(ENDING.to_owned()),
        Some((None, _)) => Answer::Refused(LOCKED.to_owned()),
        Some((Some(text), _)) => Answer::Document(text),
    }
}
