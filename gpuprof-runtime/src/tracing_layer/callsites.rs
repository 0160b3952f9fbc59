//! The callsites of `tracing`, each with the site that stands for it.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use gpuprof_report::sanitize;
use parking_lot::{Mutex, RwLock};
use rustc_hash::FxHashMap;
use tracing_core::Metadata;
use tracing_core::callsite::Identifier;

use super::options::{CallRule, LayerOptions};
use crate::collector::collector;
use crate::session::exit;
use crate::site::dynamic_sites;
use crate::site::{Meta, Site};

/// A callsite.
#[derive(Debug)]
pub(super) struct Callsite {
    pub(super) site: &'static Site,
    pub(super) rule: CallRule,
    target: &'static str,
    /// Spans that were made by callsites of this name, with the rule `PerEnter`.
    pub(super) made: &'static AtomicU64,
    /// Calls in progress of more than two parts.
    pub(super) reentered: AtomicU64,
}

/// The callsites that have made spans.
#[derive(Debug)]
pub(super) struct Callsites {
    known: RwLock<Option<FxHashMap<Identifier, &'static Callsite>>>,
    /// A layer measures.
    is_claimed: AtomicBool,
    has_second_layer: AtomicBool,
    /// Of the layer that measures.
    wanted: Mutex<WantedTargets>,
}

/// Whose spans a layer waits for.
#[derive(Debug)]
pub(super) struct WantedTargets {
    /// It waits for some.
    pub(super) any: bool,
    /// Those that somebody has named.
    pub(super) named: Vec<String>,
}

thread_local! {
    /// Of the span that this thread has made last.
    static LATEST: Cell<Option<(&'static Metadata<'static>, &'static Callsite)>> =
        const { Cell::new(None) };
}

/// Those of the process, as a subscriber of `tracing` is the process's.
static CALLSITES: Callsites = Callsites {
    known: RwLock::new(None),
    is_claimed: AtomicBool::new(false),
    has_second_layer: AtomicBool::new(false),
    wanted: Mutex::new(WantedTargets {
        any: false,
        named: Vec::new(),
    }),
};

impl Callsites {
    /// For a new layer; `None` if there is a layer.
    pub(super) fn claim(wanted: WantedTargets) -> Option<&'static Self> {
        if CALLSITES.is_claimed.swap(true, Relaxed) {
            CALLSITES.has_second_layer.store(true, Relaxed);
            return None;
        }
        *CALLSITES.wanted.lock() = wanted;
        // Set by the first layer, to the same.
        let _ = collector().layer_notes.set(notes);
        Some(&CALLSITES)
    }

    /// The layer is gone.
    pub(super) fn release(&self) {
        self.is_claimed.store(false, Relaxed);
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
        let known = self.known.read();
        if let Some(known) = known.as_ref().and_then(|known| known.get(&identifier)) {
            return known;
        }
        drop(known);
        let mut known = self.known.write();
        let known = known.get_or_insert_default();
        if let Some(known) = known.get(&identifier) {
            return known;
        }
        let new = Box::leak(Box::new(Callsite::new(metadata, options, known.values())));
        known.insert(identifier, new);
        new
    }
}

impl Callsite {
    /// `known`: those that there are.
    fn new<'a>(
        metadata: &'static Metadata<'static>,
        options: &LayerOptions,
        mut known: impl Iterator<Item = &'a &'static Callsite>,
    ) -> Self {
        let rule = options.rule(metadata);
        let module = metadata.module_path().unwrap_or(metadata.target());
        // As an annotated function is called: by its path in its crate.
        let path = match module.split_once("::") {
            Some((_, within)) => format!("{within}::{}", metadata.name()),
            None => metadata.name().to_owned(),
        };
        // Kept as the site is.
        let name = Box::leak(path.into_boxed_str());
        let file = metadata.file().unwrap_or_default();
        let line = metadata.line().unwrap_or_default();
        let site = dynamic_sites::add(Meta {
            is_async: rule == CallRule::PerSpan,
            ..Meta::named(name, module, file, line)
        });
        // Several callsites of one name number their spans together, as their rows look the same.
        let of_same_name = known.find(|known| known.site.name() == site.name());
        Self {
            site,
            rule,
            target: metadata.target(),
            made: of_same_name.map_or_else(|| &*Box::leak(Box::default()), |known| known.made),
            reentered: AtomicU64::new(0),
        }
    }
}

/// What a report says of the layer.
fn notes() -> Vec<String> {
    let mut notes: Vec<String> = dynamic_sites::note().into_iter().collect();
    if CALLSITES.has_second_layer.load(Relaxed) {
        notes.push("tracing: a second layer of gpuprof's was built; it measures nothing".into());
    }
    let known = CALLSITES.known.read();
    let known: Vec<&Callsite> = known.iter().flatten().map(|known| *known.1).collect();
    let wanted = CALLSITES.wanted.lock();
    let is_claimed = CALLSITES.is_claimed.load(Relaxed);
    if is_claimed && wanted.any && known.is_empty() {
        notes.push(format!("tracing: no span came to gpuprof's layer{MISSING}"));
    } else if is_claimed {
        let is_missing = |target: &&String| {
            let mut targets = known.iter().map(|known| known.target);
            !targets.any(|known| known.starts_with(target.as_str()))
        };
        for target in wanted.named.iter().filter(is_missing) {
            let target = sanitize::quoted(target, MAX_TARGET);
            notes.push(format!(
                "tracing: no span of the target {target} came to gpuprof's layer{MISSING}"
            ));
        }
    }
    if exit::is_reporting() {
        notes.extend(stored_spans(&known));
    }
    notes
}

/// Spans that are entered again and again, and closed by nobody.
fn stored_spans(known: &[&Callsite]) -> Vec<String> {
    let is_reentered = |known: &&&Callsite| known.reentered.load(Relaxed) > 0;
    let mut reentered: Vec<&&Callsite> = known.iter().filter(is_reentered).collect();
    reentered.sort_by_key(|callsite| callsite.site.name());
    let notes = reentered.into_iter().map(|callsite| {
        format!(
            "tracing: {} was entered again and again in one span, which is one call; unless that \
             is a future, .call_rule({:?}, CallRule::PerEnter) makes each time a call",
            callsite.site.name(),
            callsite.target,
        )
    });
    notes.collect()
}

/// Characters of a target that a note shows.
const MAX_TARGET: usize = 100;

const MISSING: &str = ". Either there is none, or a filter of the whole subscriber keeps it from \
                       being made: give that filter to the layer that prints, \
                       fmt::layer().with_filter(filter)";
