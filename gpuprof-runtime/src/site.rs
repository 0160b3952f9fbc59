//! An annotated place in the source: a static that exists whether or not it ever runs.
//!
//! Must not import anything that measures; the collector decides whether a site is on.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering, Ordering::Relaxed};

use crate::nvtx::{Look, OpenRange, Payload};

/// What the attribute states about a function; all of it known at compile time.
#[derive(Debug)]
pub struct Meta {
    /// Gives the type name of itself: an item nested in the annotated function, so its path holds the function's.
    pub path: fn() -> &'static str,
    /// `name = "…"`.
    pub name: Option<&'static str>,
    /// `module_path!()` at the function.
    pub module: &'static str,
    /// `file!()` at the function.
    pub file: &'static str,
    /// `line!()` at the function.
    pub line: u32,
    /// `cpu`: no GPU timing.
    pub cpu: bool,
    /// `graph`: calls on a stream that is being captured are timed at each replay.
    pub graph: bool,
    /// Whether it is an async function.
    pub is_async: bool,
    /// `sample = N`; 0 when not given.
    pub sample: u32,
    /// `color = 0xRRGGBB`.
    pub color: Option<u32>,
    /// `category = "…"`.
    pub category: Option<&'static str>,
}

/// A [`Meta`] with what the run time remembers about it.
#[derive(Debug)]
pub struct Site {
    pub(crate) meta: Meta,
    pub(crate) gate: AtomicU8,
    id: AtomicU32,
    /// Whether its first call in the process is still to come: one of the three below.
    first: AtomicU8,
    name: OnceLock<String>,
    pub(crate) nvtx: crate::nvtx::SiteRange,
}

/// What `inventory` gathers: one per annotated function of the whole program.
#[derive(Debug)]
pub struct Entry(pub &'static Site);

inventory::collect!(Entry);

/// The gate was never asked, or the settings changed since.
pub(crate) const GATE_UNKNOWN: u8 = 0;
/// Spans of this site do nothing.
pub(crate) const GATE_SHUT: u8 = 0x80;

/// What spans do, as the bits of an open gate: CPU times and counts.
pub(crate) const MEASURE: u8 = 1;
/// GPU times.
pub(crate) const TIME_GPU: u8 = 2;
/// NVTX ranges.
pub(crate) const EMIT_NVTX: u8 = 4;
/// Attributing GPU activities to calls by CUPTI.
pub(crate) const CORRELATE: u8 = 8;

/// Whether these duties include [`CORRELATE`].
#[inline]
pub(crate) fn correlates(duties: u8) -> bool {
    duties & CORRELATE != 0
}

const NO_ID: u32 = u32::MAX;

/// It was never asked what the site is to do.
const NOT_ASKED: u8 = 0;
/// It was, and the next call is the first.
const TO_COME: u8 = 1;
/// It was, or may have been while nobody looked.
const OVER: u8 = 2;

impl Site {
    /// A site that nothing has happened to yet.
    #[must_use]
    pub const fn new(meta: Meta) -> Self {
        Self {
            meta,
            gate: AtomicU8::new(GATE_UNKNOWN),
            id: AtomicU32::new(NO_ID),
            first: AtomicU8::new(NOT_ASKED),
            name: OnceLock::new(),
            nvtx: crate::nvtx::SiteRange::new(),
        }
    }

    /// What a span of this site is to do now: a set of [`MEASURE`], [`TIME_GPU`], [`EMIT_NVTX`] and [`CORRELATE`].
    #[inline]
    pub(crate) fn duties(&self) -> u8 {
        self.gate.load(Relaxed) & !GATE_SHUT
    }

    /// Sets the gate to what spans are to do; returns whether that is anything.
    pub(crate) fn set_duties(&self, duties: u8) -> bool {
        let without = if self.meta.cpu { TIME_GPU } else { 0 };
        let gate = match duties & !without {
            0 => GATE_SHUT,
            open => open,
        };
        if self.first.load(Relaxed) == NOT_ASKED {
            let is_seen = gate != GATE_SHUT && correlates(gate);
            self.first
                .store(if is_seen { TO_COME } else { OVER }, Relaxed);
        }
        // After the number: who finds the gate open must find that too.
        self.gate.store(gate, Ordering::Release);
        gate != GATE_SHUT
    }

    /// Whether this is the site's first call in the process. Every call of a site that correlates asks.
    pub(crate) fn is_first_call(&self) -> bool {
        self.first.load(Relaxed) == TO_COME && self.first.swap(OVER, Relaxed) == TO_COME
    }

    /// The number the collector gave this site, if it has met it.
    pub(crate) fn id(&self) -> Option<u32> {
        let id = self.id.load(Relaxed);
        (id != NO_ID).then_some(id)
    }

    /// [`id`](Self::id), or a number that no site has.
    #[inline]
    pub(crate) fn number(&self) -> u32 {
        self.id.load(Relaxed)
    }

    /// Called once, under the collector's lock.
    pub(crate) fn set_id(&self, id: u32) {
        self.id.store(id, Relaxed);
    }

    fn look(&self) -> Look<'_> {
        Look {
            name: self.name(),
            color: self.meta.color,
            category: self.meta.category,
        }
    }

    /// Whether an NVTX tool is attached that shows this site's ranges.
    pub(crate) fn is_shown(&self) -> bool {
        self.nvtx.is_shown(|| self.look())
    }

    /// Opens an NVTX range that this thread closes, in order.
    #[inline]
    pub(crate) fn push_range(&self, payload: impl FnOnce() -> Payload) -> OpenRange {
        let range = self.nvtx.push(|| self.look(), payload);
        if range.is_none() {
            self.show_no_more();
        }
        range
    }

    /// No tool is attached, and none will come: calls from now on need not ask.
    #[cold]
    fn show_no_more(&self) {
        let gate = self.gate.load(Relaxed);
        let without = match gate & !EMIT_NVTX {
            0 => GATE_SHUT,
            open => open,
        };
        if gate & EMIT_NVTX != 0 {
            // What was set meanwhile stays.
            let _ = self.gate.compare_exchange(gate, without, Relaxed, Relaxed);
        }
    }

    /// Opens an NVTX range that any thread may close.
    pub(crate) fn start_range(&self, payload: impl FnOnce() -> Payload) -> OpenRange {
        self.nvtx.start(|| self.look(), payload)
    }

    /// The shown name: `name = "…"`, or the path within the crate.
    pub(crate) fn name(&self) -> &str {
        self.name.get_or_init(|| match self.meta.name {
            Some(name) => name.to_owned(),
            None => shown_path((self.meta.path)(), self.meta.module),
        })
    }
}

/// Turns the type name of the nested item into what a person calls the function: `module::Type::function` or
/// `<Type as Trait>::function`, without the crate's own name.
fn shown_path(item: &str, module: &str) -> String {
    let path = item
        .strip_suffix("::__gpuprof_path")
        .unwrap_or(item)
        .replace("::{{closure}}", "");
    let krate = module.split("::").next().unwrap_or_default();
    inherent_impl_as_type(&without_crate(&path, krate))
}

/// Drops every `krate::` that starts a path.
fn without_crate(path: &str, krate: &str) -> String {
    let prefix = format!("{krate}::");
    let mut shown = String::with_capacity(path.len());
    let mut rest = path;
    let mut at_start = true;
    while let Some(next) = rest.chars().next() {
        if at_start && let Some(stripped) = rest.strip_prefix(&prefix) {
            rest = stripped;
            continue;
        }
        at_start = !(next.is_alphanumeric() || next == '_' || next == ':');
        shown.push(next);
        rest = rest.get(next.len_utf8()..).unwrap_or_default();
    }
    shown
}

/// `module::<impl other::Type>::function`, as the compiler names an inherent method that stands away from its type,
/// becomes `other::Type::function`.
fn inherent_impl_as_type(path: &str) -> String {
    let Some((_, tail)) = path.split_once("<impl ") else {
        return path.to_owned();
    };
    let mut depth = 1_u32;
    let end = tail.char_indices().find_map(|(at, c)| {
        match c {
            '<' => depth += 1,
            // The arrow of a function type closes nothing.
            '>' if !tail.get(..at).is_some_and(|before| before.ends_with('-')) => depth -= 1,
            _ => {}
        }
        (depth == 0).then_some(at)
    });
    match end.and_then(|at| Some((tail.get(..at)?, tail.get(at + 1..)?))) {
        Some((of, rest)) if of.contains(" for ") => format!("<{of}>{rest}"),
        Some((of, rest)) => format!("{of}{rest}"),
        None => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::shown_path;

    #[test]
    fn names_are_paths_within_the_crate() {
        for (item, shown) in [
            ("app::saxpy::__gpuprof_path", "saxpy"),
            (
                "app::net::Conv<_>::forward::__gpuprof_path",
                "net::Conv<_>::forward",
            ),
            (
                "<app::net::Conv as app::Layer>::forward::__gpuprof_path",
                "<net::Conv as Layer>::forward",
            ),
            (
                "app::other::<impl app::net::Conv<u8>>::forward::__gpuprof_path",
                "net::Conv<u8>::forward",
            ),
            (
                "app::<impl app::F<fn() -> u8>>::go::__gpuprof_path",
                "F<fn() -> u8>::go",
            ),
            ("app::serve::{{closure}}::__gpuprof_path", "serve"),
            ("app::myapp::app::go::__gpuprof_path", "myapp::app::go"),
            (
                "<u32 as app::Layer>::forward::__gpuprof_path",
                "<u32 as Layer>::forward",
            ),
        ] {
            assert_eq!(shown_path(item, "app::x"), shown);
        }
    }
}
