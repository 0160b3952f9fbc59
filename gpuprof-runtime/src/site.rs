//! A call site: the static of an annotated function, which exists whether or not the function is
//! called.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering, Ordering::Relaxed};

use crate::nvtx::{OpenRange, Payload, RangeAttributes};

/// What the attribute states about a function, all of it known at compile time.
#[derive(Debug)]
pub struct Meta {
    /// Returns the type name of an item nested in the annotated function, which contains the
    /// function's path.
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
    /// Whether it is an async function.
    pub is_async: bool,
    /// Whether a parameter is written as one of cudarc's types that have a stream, and is searched.
    pub names_stream: bool,
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
    /// An [`Interest`].
    interest: AtomicU8,
    id: AtomicU32,
    /// Whether its first call in the process is still to come: one of the three below.
    first_call: AtomicU8,
    /// A call had parameters that carry different streams, and none that is a stream.
    pub(crate) streams_differ: AtomicBool,
    name: OnceLock<String>,
    pub(crate) nvtx: crate::nvtx::SiteRange,
}

/// What `inventory` gathers: one per annotated function of the whole program.
#[derive(Debug)]
pub struct Entry(pub &'static Site);

inventory::collect!(Entry);

/// What the spans of a site do: any set of the constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SiteFlags(u8);

impl SiteFlags {
    pub(crate) const NONE: Self = Self(0);
    /// CPU times and counts.
    pub(crate) const MEASURE: Self = Self(1);
    pub(crate) const TIME_GPU: Self = Self(2);
    pub(crate) const EMIT_NVTX: Self = Self(4);
    /// Attribution of CUPTI's records to calls.
    pub(crate) const CORRELATE: Self = Self(8);

    #[inline]
    pub(crate) const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub(crate) const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(crate) const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    pub(crate) const fn bits(self) -> u8 {
        self.0
    }
}

/// Whether the spans of a site do anything, in the byte that each call loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Interest {
    /// To be decided at the next call: the site was never called, or the settings have changed
    /// since.
    Undecided,
    Never,
    Always(SiteFlags),
}

impl Interest {
    const UNDECIDED: u8 = 0;
    const NEVER: u8 = 0x80;

    const fn from_flags(flags: SiteFlags) -> Self {
        match flags {
            SiteFlags::NONE => Self::Never,
            flags => Self::Always(flags),
        }
    }

    #[inline]
    const fn from_bits(bits: u8) -> Self {
        match bits {
            Self::UNDECIDED => Self::Undecided,
            Self::NEVER => Self::Never,
            flags => Self::Always(SiteFlags(flags)),
        }
    }

    const fn bits(self) -> u8 {
        match self {
            Self::Undecided => Self::UNDECIDED,
            Self::Never => Self::NEVER,
            Self::Always(flags) => flags.0,
        }
    }
}

const NO_ID: u32 = u32::MAX;

/// No window has decided on the site yet.
const FIRST_CALL_UNDECIDED: u8 = 0;
/// The next call is the first.
const FIRST_CALL_PENDING: u8 = 1;
/// The first call is over, or may have been made while nothing was recorded.
const FIRST_CALL_OVER: u8 = 2;

impl Site {
    /// A site that has not been called yet.
    #[must_use]
    pub const fn new(meta: Meta) -> Self {
        Self {
            meta,
            interest: AtomicU8::new(Interest::UNDECIDED),
            id: AtomicU32::new(NO_ID),
            first_call: AtomicU8::new(FIRST_CALL_UNDECIDED),
            streams_differ: AtomicBool::new(false),
            name: OnceLock::new(),
            nvtx: crate::nvtx::SiteRange::new(),
        }
    }

    /// Whether the spans of this site do anything. `None` if the current settings have not been
    /// applied to this site yet; the caller must decide.
    #[inline]
    pub(crate) fn cached_interest(&self) -> Option<bool> {
        // Acquire: a thread that finds flags must also find the id, which was stored before them.
        match Interest::from_bits(self.interest.load(Ordering::Acquire)) {
            Interest::Undecided => None,
            Interest::Never => Some(false),
            Interest::Always(_) => Some(true),
        }
    }

    /// What a span of this site does now.
    #[inline]
    pub(crate) fn flags(&self) -> SiteFlags {
        SiteFlags(self.interest.load(Relaxed) & !Interest::NEVER)
    }

    /// Sets the flags; returns false if the site is now disabled.
    pub(crate) fn set_flags(&self, flags: SiteFlags) -> bool {
        let flags = match self.meta.cpu {
            true => flags.without(SiteFlags::TIME_GPU),
            false => flags,
        };
        if self.first_call.load(Relaxed) == FIRST_CALL_UNDECIDED {
            let first_call = match flags.contains(SiteFlags::CORRELATE) {
                true => FIRST_CALL_PENDING,
                false => FIRST_CALL_OVER,
            };
            self.first_call.store(first_call, Relaxed);
        }
        let interest = Interest::from_flags(flags);
        self.interest.store(interest.bits(), Ordering::Release);
        interest != Interest::Never
    }

    /// Has the next call decide again what spans do.
    pub(crate) fn reconsider(&self) {
        self.interest.store(Interest::UNDECIDED, Relaxed);
    }

    /// Has spans do nothing, without any lock.
    pub(crate) fn disable(&self) {
        self.interest.store(Interest::NEVER, Relaxed);
    }

    /// Whether this is the site's first call in the process. Checked by every call that receives
    /// CUPTI records.
    pub(crate) fn is_first_call(&self) -> bool {
        self.first_call.load(Relaxed) == FIRST_CALL_PENDING
            && self.first_call.swap(FIRST_CALL_OVER, Relaxed) == FIRST_CALL_PENDING
    }

    /// The id that the collector gave this site, if it knows it.
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

    /// Notes that the parameters of a call carry different streams, and that none is a stream.
    pub(crate) fn note_streams_differ(&self) {
        self.streams_differ.store(true, Relaxed);
    }

    fn range_attributes(&self) -> RangeAttributes<'_> {
        RangeAttributes {
            name: self.name(),
            color: self.meta.color,
            category: self.meta.category,
        }
    }

    /// Whether an NVTX tool is attached that shows this site's ranges.
    pub(crate) fn is_shown(&self) -> bool {
        self.nvtx.is_shown(|| self.range_attributes())
    }

    /// Opens an NVTX range that this thread closes, in order.
    #[inline]
    pub(crate) fn push_range(&self, payload: impl FnOnce() -> Payload) -> OpenRange {
        let range = self.nvtx.push(|| self.range_attributes(), payload);
        if range.is_none() {
            self.disable_nvtx();
        }
        range
    }

    /// No tool is attached, and tools attach at the first NVTX call or never: later calls need not
    /// ask.
    #[cold]
    fn disable_nvtx(&self) {
        let bits = self.interest.load(Relaxed);
        if let Interest::Always(flags) = Interest::from_bits(bits)
            && flags.contains(SiteFlags::EMIT_NVTX)
        {
            let without = Interest::from_flags(flags.without(SiteFlags::EMIT_NVTX)).bits();
            // If the flags were set meanwhile, those stay.
            let _ = self
                .interest
                .compare_exchange(bits, without, Relaxed, Relaxed);
        }
    }

    /// Opens an NVTX range that any thread may close.
    pub(crate) fn start_range(&self, payload: impl FnOnce() -> Payload) -> OpenRange {
        self.nvtx.start(|| self.range_attributes(), payload)
    }

    /// The shown name: `name = "…"`, or the path within the crate.
    pub(crate) fn name(&self) -> &str {
        self.name.get_or_init(|| match self.meta.name {
            Some(name) => name.to_owned(),
            None => shown_path((self.meta.path)(), self.meta.module),
        })
    }
}

/// Turns the type name of the nested item into the function's path without the crate's name:
/// `module::Type::function` or `<Type as Trait>::function`.
///
/// A type of another crate is known only by the path of its definition, which may be private; its
/// last part is what programs import.
fn shown_path(item: &str, module: &str) -> String {
    let path = item
        .strip_suffix("::__gpuprof_path")
        .unwrap_or(item)
        .replace("::{{closure}}", "");
    let krate = module.split("::").next().unwrap_or_default();
    inherent_impl_as_type(&as_imported(&path, krate))
}

/// Removes every `krate::` that begins a path, and shortens the paths of other crates to the name
/// that is mostly imported: `alloc::sync::Arc` to `Arc`.
fn as_imported(path: &str, krate: &str) -> String {
    let prefix = format!("{krate}::");
    let mut shown = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(next) = rest.chars().next() {
        let end = rest
            .find(|c: char| !is_in_path(c))
            .unwrap_or(rest.len())
            .max(next.len_utf8());
        let (part, after) = rest.split_at(end);
        rest = after;
        let mut own = part;
        while let Some(stripped) = own.strip_prefix(&prefix) {
            own = stripped;
        }
        // `::function` after a type is no path of its own.
        let is_foreign = own.len() == part.len() && is_in_path(next) && next != ':';
        shown.push_str(match is_foreign {
            true => part.rsplit("::").next().unwrap_or(part),
            false => own,
        });
    }
    shown
}

fn is_in_path(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == ':' || c == '#'
}

/// Turns `module::<impl other::Type>::function`, the compiler's name of an inherent method outside
/// its type's module, into `other::Type::function`.
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
        Some((target, rest)) if target.contains(" for ") => format!("<{target}>{rest}"),
        Some((target, rest)) => format!("{target}{rest}"),
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
            (
                "<app::D as core::convert::From<alloc::sync::Arc<\
                 cudarc::driver::safe::core::CudaStream>>>::from::__gpuprof_path",
                "<D as From<Arc<CudaStream>>>::from",
            ),
            (
                "<app::net::Net<dyn core::ops::function::Fn(app::net::T) -> u8> as \
                 other::nn::Layer>::go::__gpuprof_path",
                "<net::Net<dyn Fn(net::T) -> u8> as Layer>::go",
            ),
        ] {
            assert_eq!(shown_path(item, "app::x"), shown);
        }
    }
}
