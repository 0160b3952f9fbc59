//! What the layer keeps of a span of `tracing`.

use std::sync::OnceLock;
use std::sync::atomic::{
    AtomicBool,
    Ordering::{Acquire, Relaxed, Release},
};

use parking_lot::Mutex;
use tracing_core::span::{Attributes, Record};

use super::callsites::Callsite;
use super::fields::{FieldLabel, FieldVisitor, Fields};
use super::options::{CallRule, LayerOptions};
use crate::gpu::Streams;
use crate::nvtx::Payload;
use crate::recorder::CallArguments;
use crate::site::SiteFlags;
use crate::site::labels::LabelNumber;
use crate::span::Span;
use crate::span::future::{AsyncSpan, OpenPoll};
use crate::stats::call_outcome::StatedWork;

/// Parts from which on a call that is open at exit is most likely a span that is stored.
const REENTERED: u64 = 3;

/// A span.
#[derive(Debug)]
pub(super) struct SpanData {
    pub(super) callsite: &'static Callsite,
    /// Among those of callsites of this name, from 0, with the rule `PerEnter`.
    number: u64,
    fields: Mutex<Fields>,
    /// There are some, which spares most calls the lock.
    has_fields: AtomicBool,
    /// Known from the first call on, as its look-up takes longer than a call.
    label: OnceLock<LabelNumber>,
    /// Its call has begun.
    has_begun: AtomicBool,
    is_closed: AtomicBool,
    call: Mutex<SpanCall>,
}

/// The call that a span is, by the rule [`CallRule::PerSpan`].
#[derive(Debug)]
struct SpanCall {
    span: AsyncSpan,
    /// Those that have begun.
    parts: u64,
    is_entered: bool,
}

impl SpanCall {
    /// The call, which ends when it is dropped, outside the lock.
    fn take(&mut self, callsite: &Callsite) -> AsyncSpan {
        if std::mem::take(&mut self.parts) >= REENTERED {
            callsite.reentered.fetch_sub(1, Relaxed);
        }
        std::mem::replace(&mut self.span, AsyncSpan::off())
    }
}

impl SpanData {
    pub(super) fn new(
        callsite: &'static Callsite,
        attributes: &Attributes<'_>,
        options: &LayerOptions,
    ) -> Self {
        let data = Self {
            callsite,
            number: match callsite.rule {
                CallRule::PerEnter => callsite.made.fetch_add(1, Relaxed),
                CallRule::PerSpan => 0,
            },
            fields: Mutex::default(),
            has_fields: AtomicBool::new(false),
            label: OnceLock::new(),
            has_begun: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
            call: Mutex::new(SpanCall {
                span: AsyncSpan::off(),
                parts: 0,
                is_entered: false,
            }),
        };
        data.visit(options, |visitor| attributes.record(visitor));
        data
    }

    /// Adds values that were not known when the span was made.
    pub(super) fn record(&self, values: &Record<'_>, options: &LayerOptions) {
        self.visit(options, |visitor| values.record(visitor));
    }

    fn visit(&self, options: &LayerOptions, record: impl FnOnce(&mut FieldVisitor<'_>)) {
        let site = self.callsite.site;
        // A stored span may be entered when a later session records a time line.
        let keeps_arguments = match self.callsite.rule {
            CallRule::PerEnter => site.active(),
            CallRule::PerSpan => site.active() && site.flags().contains(SiteFlags::RECORD),
        };
        if keeps_arguments || options.label_field.is_some() {
            let mut fields = Fields::default();
            // Runs code of the program's: without a lock.
            record(&mut FieldVisitor {
                fields: &mut fields,
                options,
                keeps_arguments,
            });
            self.fields.lock().merge(fields);
            self.has_fields.store(true, Release);
        }
    }

    fn label(&self) -> LabelNumber {
        *self.label.get_or_init(|| {
            let site = self.callsite.site;
            let label = self.has_fields().then(|| self.fields.lock().label.clone());
            match (label.flatten(), self.callsite.rule) {
                (Some(FieldLabel::Signed(label)), _) => site.label(&label),
                (Some(FieldLabel::Unsigned(label)), _) => site.label(&label),
                (Some(FieldLabel::Text(label)), _) => site.label(&label),
                (None, CallRule::PerEnter) => site.label(&self.number),
                (None, CallRule::PerSpan) => LabelNumber::NONE,
            }
        })
    }

    fn has_fields(&self) -> bool {
        self.has_fields.load(Acquire)
    }

    fn arguments(&self) -> CallArguments {
        self.fields.lock().arguments.clone().into_boxed_slice()
    }

    /// A call of [`CallRule::PerEnter`], which begins now, in a span that is off.
    pub(super) fn begin_call(&self, span: &mut Span) {
        let site = self.callsite.site;
        if site.active() {
            span.enter(
                site,
                || self.label(),
                || Streams::Inherit,
                || StatedWork::NONE,
                || Payload::None,
                || self.arguments(),
            );
        }
    }

    /// A part of the call of [`CallRule::PerSpan`] begins. `None`: nothing is measured, or another
    /// part is in progress, of another thread or around this one.
    pub(super) fn begin_part(&self) -> Option<OpenPoll> {
        let site = self.callsite.site;
        let is_first = site.active() && !self.has_begun.swap(true, Relaxed);
        // What asks the driver comes before the lock, which another thread may wait for.
        let begun = is_first.then(|| AsyncSpan::begun(site, || self.label()));
        let mut call = self.call.lock();
        if let Some(begun) = begun {
            call.span = begun;
        }
        if call.is_entered {
            return None;
        }
        let part = call.span.begin_poll()?;
        call.is_entered = true;
        call.parts += 1;
        if call.parts == REENTERED {
            self.callsite.reentered.fetch_add(1, Relaxed);
        }
        Some(part)
    }

    /// Ends what [`begin_part`](Self::begin_part) began, on the same thread.
    pub(super) fn end_part(&self, part: OpenPoll) {
        let records = self.callsite.site.flags().contains(SiteFlags::RECORD);
        // Those that the part recorded are in.
        let arguments = records.then(|| self.arguments());
        let mut call = self.call.lock();
        if let Some(arguments) = arguments {
            call.span.set_arguments(arguments);
        }
        call.span.end_poll(part);
        call.is_entered = false;
        let ended = self.is_closed().then(|| call.take(self.callsite));
        drop(call);
        drop(ended);
    }

    /// The span is over, and so is its call, unless a thread has not exited the span: then the call
    /// ends when that thread notices.
    pub(super) fn close(&self) {
        let mut call = self.call.lock();
        self.is_closed.store(true, Relaxed);
        let ended = (!call.is_entered).then(|| call.take(self.callsite));
        drop(call);
        drop(ended);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Relaxed)
    }
}

/// The span was not closed: its subscriber is gone.
impl Drop for SpanData {
    fn drop(&mut self) {
        drop(self.call.get_mut().take(self.callsite));
    }
}
