//! What a thread records for the time line: its calls, with their arguments.

use std::fmt::{self, Debug, Write};

use gpuprof_report::sanitize::longest_prefix;

use crate::collector::collector;
use crate::recorder::{CallArguments, CallEvent, ChunkWriter};

/// Bytes of an argument's value that are kept.
const MAX_VALUE_BYTES: usize = 200;
/// Open calls with arguments on a thread; of others the arguments are omitted.
const MAX_OPEN: usize = 1_024;

/// That a call is recorded when it ends.
#[derive(Clone, Copy, Debug)]
pub(super) enum RecordedCall {
    Plain,
    /// The number of its arguments.
    WithArguments(u32),
}

/// The thread's part of the recorder.
#[derive(Debug)]
pub(super) struct ThreadRecorder {
    writer: ChunkWriter,
    /// Of open calls, by number.
    arguments: Vec<(u32, CallArguments)>,
    next: u32,
}

/// A call, or a poll of an async one, that has ended. Times in clock ticks.
#[derive(Clone, Copy, Debug)]
pub(super) struct EndedSpan {
    pub(super) path: u32,
    pub(super) started: u64,
    pub(super) ended: u64,
    /// The number that its GPU spans have as well; 0 for none.
    pub(super) gpu_call: u64,
}

impl ThreadRecorder {
    pub(super) const fn new() -> Self {
        Self {
            writer: ChunkWriter::of_thread(),
            arguments: Vec::new(),
            next: 0,
        }
    }

    /// Keeps the arguments of a call that begins.
    pub(super) fn keep_arguments(&mut self, arguments: CallArguments) -> RecordedCall {
        if arguments.is_empty() || self.arguments.len() >= MAX_OPEN {
            return RecordedCall::Plain;
        }
        self.next = self.next.wrapping_add(1);
        self.arguments.push((self.next, arguments));
        RecordedCall::WithArguments(self.next)
    }

    /// Returns the arguments of a call that ends.
    pub(super) fn take(&mut self, call: RecordedCall) -> Option<CallArguments> {
        let RecordedCall::WithArguments(number) = call else {
            return None;
        };
        let at = self.arguments.iter().rposition(|(of, _)| *of == number)?;
        Some(self.arguments.remove(at).1)
    }

    pub(super) fn record(&mut self, span: &EndedSpan, arguments: Option<CallArguments>) {
        let (recorder, event) = (&collector().recorder, span.event());
        match arguments {
            None => self.writer.push(recorder, &event),
            Some(arguments) => self.writer.push_with(recorder, &event, arguments),
        }
    }

    /// Records a call without GPU spans and arguments. Times in clock ticks.
    #[inline(always)]
    pub(super) fn record_plain(&mut self, path: u32, started: u64, ended: u64) {
        let span = EndedSpan {
            path,
            started,
            ended,
            gpu_call: 0,
        };
        self.writer.push(&collector().recorder, &span.event());
    }
}

impl EndedSpan {
    #[inline(always)]
    fn event(&self) -> CallEvent {
        CallEvent::Cpu {
            path: self.path,
            started: self.started,
            // The clocks of two processors may differ.
            ended: self.ended.max(self.started),
            call: self.gpu_call,
        }
    }
}

/// The value of an argument as the time line shows it.
#[must_use]
pub(crate) fn value_text(value: &(impl Debug + ?Sized)) -> String {
    let mut text = Bounded(String::new());
    // An error means that the text is full, or that the value refused to be shown.
    if write!(text, "{value:?}").is_err() && text.0.len() >= MAX_VALUE_BYTES {
        text.0.push('…');
    }
    text.0
}

/// A text that refuses what does not fit.
struct Bounded(String);

impl Write for Bounded {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        let room = MAX_VALUE_BYTES.saturating_sub(self.0.len());
        if more.len() <= room {
            self.0.push_str(more);
            return Ok(());
        }
        self.0.push_str(longest_prefix(more, room));
        // So that the text counts as full, wherever the character that was cut begins.
        while self.0.len() < MAX_VALUE_BYTES {
            self.0.push(' ');
        }
        Err(fmt::Error)
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_VALUE_BYTES, RecordedCall, ThreadRecorder, value_text};

    #[test]
    fn values_are_shown_as_rust_debugs_them_and_are_bounded() {
        assert_eq!(value_text(&[2, 3]), "[2, 3]");
        assert_eq!(value_text("cat"), "\"cat\"");
        let long = value_text(&"ä".repeat(500));
        assert_eq!(long.trim_end_matches('…').len(), MAX_VALUE_BYTES);
        assert!(long.starts_with("\"ää") && long.ends_with('…'), "{long}");
        assert_eq!(
            value_text(&vec![1_u8; 1 << 20]).chars().count(),
            MAX_VALUE_BYTES + 1
        );
    }

    #[test]
    fn arguments_are_those_of_their_call_in_any_order() {
        let mut recorder = ThreadRecorder::new();
        let mut keep = |value: &str| recorder.keep_arguments(Box::new([("x", value.to_owned())]));
        let (one, two) = (keep("1"), keep("2"));
        let mut take = |call| {
            let arguments = recorder.take(call)?;
            Some(arguments.first()?.1.clone())
        };
        assert_eq!(take(one).as_deref(), Some("1"));
        assert_eq!(take(one), None);
        assert_eq!(take(two).as_deref(), Some("2"));
        assert_eq!(take(RecordedCall::Plain), None);
    }
}
