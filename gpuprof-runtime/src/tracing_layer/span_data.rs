//! What the layer keeps of a span of `tracing`.

use std::sync::OnceLock;
use std::sync::atomic::Ordering::Relaxed;

use parking_lot::Mutex;
use tracing_core::span::{Attributes, Record};

use super::callsites::Callsite;
use super::fields::{FieldVisitor, Fields};
use super::options::{CallRule, LayerOptions};
use crate::gpu::Streams;
use crate::nvtx::Payload;
use crate::recorder::CallArguments;
use crate::site::SiteFlags;
use crate::site::labels::LabelNumber;
use crate::span::Span;
use crate::span::future::{AsyncSpan, OpenPoll};
use crate::stats::call_outcome::StatedWork;

/// A span.
#[derive(Debug)]
pub(super) struct SpanData {
    pub(super) callsite: &'static Callsite,
    /// Among those of the callsite, from 0, with the rule `PerEnter`.
    number: u64,
    fields: Mutex<Fields>,
    /// Known from the first call on, as its look-up takes longer than a call.
    label: OnceLock<LabelNumber>,
    call: Mutex<SpanCall>,
}

/// The call that a span is, by the rule [`CallRule::PerSpan`].
#[derive(Debug)]
struct SpanCall {
    span: AsyncSpan,
    enters: u64,
    is_entered: bool,
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
            label: OnceLock::new(),
            call: Mutex::new(SpanCall {
                span: AsyncSpan::off(),
                enters: 0,
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
        // What is kept depends on the settings.
        let keeps_arguments = site.active() && site.flags().contains(SiteFlags::RECORD);
        if keeps_arguments || options.label_field.is_some() {
            record(&mut FieldVisitor {
                fields: &mut self.fields.lock(),
                options,
                keeps_arguments,
            });
        }
    }

    fn label(&self) -> LabelNumber {
        *self.label.get_or_init(|| {
            let site = self.callsite.site;
            match (&self.fields.lock().label, self.callsite.rule) {
                (Some(label), _) => site.label(label),
                (None, CallRule::PerEnter) => site.label(&self.number),
                (None, CallRule::PerSpan) => LabelNumber::NONE,
            }
        })
    }

    fn arguments(&self) -> CallArguments {
        self.fields.lock().arguments.clone().into_boxed_slice()
    }

    /// A call of [`CallRule::PerEnter`], which begins now.
    pub(super) fn begin_call(&self) -> Option<Span> {
        let site = self.callsite.site;
        site.active().then(|| {
            let mut span = Span::off();
            span.enter(
                site,
                || self.label(),
                || Streams::Inherit,
                || StatedWork::NONE,
                || Payload::None,
                || self.arguments(),
            );
            span
        })
    }

    /// A part of the call of [`CallRule::PerSpan`] begins. `None`: nothing is measured, or another
    /// part is in progress, of another thread or around this one.
    pub(super) fn begin_part(&self) -> Option<OpenPoll> {
        let site = self.callsite.site;
        let mut call = self.call.lock();
        call.enters += 1;
        if call.enters == 1 && site.active() {
            call.span = AsyncSpan::begun(site, || self.label(), || self.arguments());
        }
        if call.enters == 3 {
            self.callsite.reentered.fetch_add(1, Relaxed);
        }
        if call.is_entered {
            return None;
        }
        let part = call.span.begin_poll();
        call.is_entered = part.is_some();
        part
    }

    /// Ends what [`begin_part`](Self::begin_part) began, on the same thread.
    pub(super) fn end_part(&self, part: OpenPoll) {
        let mut call = self.call.lock();
        call.span.end_poll(part);
        call.is_entered = false;
    }
}

/// The span is closed, and all its parts have ended: now its call ends.
impl Drop for SpanData {
    fn drop(&mut self) {
        if self.call.get_mut().enters > 2 {
            self.callsite.reentered.fetch_sub(1, Relaxed);
        }
    }
}
