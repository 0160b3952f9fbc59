//! The callsites of `tracing`, each with the site that stands for it.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use parking_lot::RwLock;
use rustc_hash::FxHashMap;
use tracing_core::Metadata;
use tracing_core::callsite::Identifier;

use super::options::{CallRule, LayerOptions};
use crate::collector::collector;
use crate::site::dynamic_sites;
use crate::site::{Meta, Site};

/// A callsite.
#[derive(Debug)]
pub(super) struct Callsite {
    pub(super) site: &'static Site,
    pub(super) rule: CallRule,
    target: &'static str,
    /// Spans that were made, with the rule `PerEnter`.
    pub(super) made: AtomicU64,
    /// Calls in progress whose span was entered more than twice.
    pub(super) reentered: AtomicU64,
}

/// The callsites of the layer that measures.
#[derive(Debug, Default)]
pub(super) struct Callsites {
    known: RwLock<FxHashMap<Identifier, &'static Callsite>>,
    has_second_layer: AtomicBool,
}

thread_local! {
    /// Of the span that this thread has made last.
    static LATEST: Cell<Option<(&'static Metadata<'static>, &'static Callsite)>> =
        const { Cell::new(None) };
}

/// Those of the process, as a subscriber of `tracing` is the process's.
static CALLSITES: OnceLock<Callsites> = OnceLock::new();

impl Callsites {
    /// For a new layer; `None` if there is one.
    pub(super) fn claim() -> Option<&'static Self> {
        if CALLSITES.set(Self::default()).is_ok() {
            collector().span_notes.lock().push(notes);
            CALLSITES.get()
        } else {
            let first = CALLSITES.get()?;
            first.has_second_layer.store(true, Relaxed);
            None
        }
    }

    pub(super) fn find_or_add(
        &self,
        metadata: &'static Metadata<'static>,
        options: &LayerOptions,
    ) -> &'static Callsite {
        // The lock is for all threads, and most make the same span again.
        let latest = LATEST
            .get()
            .filter(|latest| std::ptr::eq(latest.0, metadata));
        let found = latest.map(|latest| latest.1);
        found.unwrap_or_else(|| {
            let found = self.find_or_add_shared(metadata, options);
            LATEST.set(Some((metadata, found)));
            found
        })
    }

    fn find_or_add_shared(
        &self,
        metadata: &'static Metadata<'static>,
        options: &LayerOptions,
    ) -> &'static Callsite {
        let identifier = metadata.callsite();
        if let Some(known) = self.known.read().get(&identifier) {
            return known;
        }
        let mut known = self.known.write();
        known
            .entry(identifier)
            .or_insert_with(|| Box::leak(Box::new(Callsite::new(metadata, options))))
    }
}

impl Callsite {
    fn new(metadata: &'static Metadata<'static>, options: &LayerOptions) -> Self {
        let rule = options.rule(metadata);
        let module = metadata.module_path().unwrap_or(metadata.target());
        // As an annotated function is called: by its path in its crate.
        let path = match module.split_once("::") {
            Some((_, within)) => format!("{within}::{}", metadata.name()),
            None => metadata.name().to_owned(),
        };
        let site = dynamic_sites::add(Meta {
            path: || "",
            // Kept as the site is.
            name: Some(Box::leak(path.into_boxed_str())),
            module,
            file: metadata.file().unwrap_or_default(),
            line: metadata.line().unwrap_or_default(),
            cpu: false,
            is_async: rule == CallRule::PerSpan,
            names_stream: false,
            precision: None,
            sample: 0,
            color: None,
            category: None,
        });
        Self {
            site,
            rule,
            target: metadata.target(),
            made: AtomicU64::new(0),
            reentered: AtomicU64::new(0),
        }
    }
}

/// What a report says of the layer.
fn notes() -> Vec<String> {
    let Some(callsites) = CALLSITES.get() else {
        return Vec::new();
    };
    let mut notes: Vec<String> = dynamic_sites::note().into_iter().collect();
    if callsites.has_second_layer.load(Relaxed) {
        notes.push("tracing: a second layer of gpuprof's was built; it measures nothing".into());
    }
    let known = callsites.known.read();
    if known.is_empty() {
        notes.push(NO_SPAN.into());
    }
    let mut reentered: Vec<&Callsite> = known
        .values()
        .copied()
        .filter(|callsite| callsite.reentered.load(Relaxed) > 0)
        .collect();
    reentered.sort_by_key(|callsite| callsite.site.name());
    for callsite in reentered {
        notes.push(format!(
            "tracing: {} was entered again and again in one span, which is one call; \
             .call_rule({:?}, CallRule::PerEnter) makes each time a call",
            callsite.site.name(),
            callsite.target,
        ));
    }
    notes
}

const NO_SPAN: &str = "tracing: no span came to gpuprof's layer. A filter of the whole subscriber \
                       keeps spans from being made: give it to the layer that prints, \
                       fmt::layer().with_filter(filter)";
