//! A call site: the static of an annotated function, which exists whether or not the function is
//! called.

pub(crate) mod all_sites;
#[cfg(any(feature = "tracing", feature = "inject"))]
pub(crate) mod dynamic_sites;
mod function_path;
pub(crate) mod labels;
mod meta;

use std::borrow::Cow;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering, Ordering::Relaxed};

use self::function_path::shown_path;
use self::labels::{IntoLabel, KeptLabel, LabelNumber, LabelTable};
pub use self::meta::Meta;
use crate::nvtx::{OpenRange, Payload, RangeAttributes, SiteRange};
use crate::os::fork;
use crate::os::own_work::OwnWork;
use gpuprof_report::profile::labelled;

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
    pub(crate) parameter_streams_differ: AtomicBool,
    name: OnceLock<String>,
    /// Made by the first call with a label.
    labels: OnceLock<Box<LabelTable>>,
    nvtx: SiteRange,
}

/// What `inventory` gathers: one per annotated function of the whole program.
#[derive(Debug)]
pub struct SiteEntry(pub &'static Site);

inventory::collect!(SiteEntry);

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
    /// Calls on the time line.
    pub(crate) const RECORD: Self = Self(16);

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
        // The sign tells them apart, with one branch for a span that measures.
        match bits.cast_signed() {
            1.. => Self::Always(SiteFlags(bits)),
            0 => Self::Undecided,
            _ => Self::Never,
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

// `active`, which spans ask first, is in `session/activation`, as it may open a window.
impl Site {
    /// A site that has not been called yet.
    #[must_use]
    pub const fn new(meta: Meta) -> Self {
        Self {
            meta,
            interest: AtomicU8::new(Interest::UNDECIDED),
            id: AtomicU32::new(NO_ID),
            first_call: AtomicU8::new(FIRST_CALL_UNDECIDED),
            parameter_streams_differ: AtomicBool::new(false),
            name: OnceLock::new(),
            labels: OnceLock::new(),
            nvtx: SiteRange::new(),
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
        let flags = if self.meta.cpu {
            flags.without(SiteFlags::TIME_GPU)
        } else {
            flags
        };
        if self.first_call.load(Relaxed) == FIRST_CALL_UNDECIDED {
            let first_call = if flags.contains(SiteFlags::CORRELATE) {
                FIRST_CALL_PENDING
            } else {
                FIRST_CALL_OVER
            };
            self.first_call.store(first_call, Relaxed);
        }
        let interest = Interest::from_flags(flags);
        self.interest.store(interest.bits(), Ordering::Release);
        interest != Interest::Never
    }

    /// Lets the next call decide again what spans of this site do.
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
    pub(crate) fn note_parameter_streams_differ(&self) {
        self.parameter_streams_differ.store(true, Relaxed);
    }

    /// The number of a call's label.
    #[inline]
    pub fn label(&self, label: &(impl IntoLabel + ?Sized)) -> LabelNumber {
        let labels = self.labels.get().map(|labels| &**labels);
        match labels.or_else(|| self.make_labels()) {
            Some(labels) => labels.number(label.label()),
            None => LabelNumber::NONE,
        }
    }

    #[cold]
    fn make_labels(&self) -> Option<&LabelTable> {
        let _own = OwnWork::begin();
        // In a forked child, a thread that does not exist there may be making them.
        (!fork::is_child()).then(|| &**self.labels.get_or_init(LabelTable::boxed))
    }

    /// The label of this number; `None` if it is that of calls without one.
    pub(crate) fn label_of(&self, number: LabelNumber) -> Option<&KeptLabel> {
        self.labels.get()?.label(number)
    }

    /// The NVTX ranges of calls with this label.
    fn range(&self, label: LabelNumber) -> &SiteRange {
        let labels = (label != LabelNumber::NONE).then(|| self.labels.get());
        let range = labels.flatten().and_then(|labels| labels.range(label));
        range.unwrap_or(&self.nvtx)
    }

    fn range_attributes(&self, label: LabelNumber) -> RangeAttributes<'_> {
        let name = Cow::Borrowed(self.name());
        RangeAttributes {
            name: match self.label_of(label) {
                Some(label) => Cow::Owned(labelled(&name, &label.to_string())),
                None => name,
            },
            color: self.meta.color,
            category: self.meta.category,
        }
    }

    /// Whether an NVTX tool is attached that shows this site's ranges.
    pub(crate) fn is_shown(&self) -> bool {
        self.nvtx
            .is_shown(|| self.range_attributes(LabelNumber::NONE))
    }

    /// Opens an NVTX range that this thread closes, in order.
    #[inline]
    pub(crate) fn push_range(
        &self,
        label: LabelNumber,
        payload: impl FnOnce() -> Payload,
    ) -> OpenRange {
        let range = self
            .range(label)
            .push(|| self.range_attributes(label), payload);
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
    pub(crate) fn start_range(
        &self,
        label: LabelNumber,
        payload: impl FnOnce() -> Payload,
    ) -> OpenRange {
        let range = self.range(label);
        range.start(|| self.range_attributes(label), payload)
    }

    /// The shown name: `name = "…"`, or the path within the crate.
    pub(crate) fn name(&self) -> &str {
        if let Some(name) = self.name.get() {
            return name;
        }
        let _own = OwnWork::begin();
        self.name.get_or_init(|| match self.meta.name {
            Some(name) => name.to_owned(),
            None => shown_path((self.meta.path)(), self.meta.module),
        })
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicU8, AtomicU32};
    use loom::thread;

    use crate::sync::in_every_order;

    /// `Site` is a static, which loom's atomics cannot be in: the same two words with the same
    /// orders.
    #[test]
    fn an_open_gate_shows_the_sites_number() {
        in_every_order(|| {
            let site = Arc::new((AtomicU8::new(0), AtomicU32::new(u32::MAX)));
            let span = thread::spawn({
                let site = Arc::clone(&site);
                move || {
                    let (gate, id) = &*site;
                    if gate.load(Acquire) == 1 {
                        assert_eq!(id.load(Relaxed), 7);
                    }
                }
            });
            site.1.store(7, Relaxed);
            site.0.store(1, Release);
            span.join().unwrap();
        });
    }
}
