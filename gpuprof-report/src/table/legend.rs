//! The marks of a report and the lines that explain those that were drawn.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::counters::{self, SHARED_SAMPLES};
use super::number;
use super::qualifiers::{
    self, DIVIDED, Doubt, ESTIMATED, NEAR_FLOOR, OVERLAPPING, PARTIAL, RowMark,
};
use super::words::{DIM, NAMES, PLAIN, Paragraph, WARN, labelled};
use crate::profile::{GpuBusy, Profile};
use crate::sanitize;
use crate::sorting::sort_by_key;

/// Before the GPU time of the spans inside a function without a stream.
pub(super) const INSIDE: &str = "Σ";
/// The same where streams overlap.
pub(super) const INSIDE_OVERLAPPING: &str = "Σ≤";
/// The same where some of it is scaled up from a sample.
pub(super) const INSIDE_ESTIMATED: &str = "Σ~";
/// The same where calls inside went untimed.
pub(super) const INSIDE_PARTIAL: &str = "Σ≥";

/// The same where some of it is an equal part of shared time.
pub(super) const INSIDE_DIVIDED: &str = "Σ÷";

/// The marks that were drawn and so want an explanation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Marks {
    launched_nothing: bool,
    may_be_host: bool,
    near_floor: bool,
    /// [`ESTIMATED`], [`PARTIAL`], [`OVERLAPPING`] and [`DIVIDED`], also where one stands in the
    /// place of another.
    pub(super) doubt: Doubt,
    /// [`INSIDE`].
    pub(super) inside: bool,
    /// [`SHARED_SAMPLES`].
    shared_samples: bool,
}

impl Marks {
    /// A row has this mark.
    pub(super) fn add_row(&mut self, mark: Option<RowMark>) {
        match mark {
            Some(RowMark::LaunchedNothing) => self.launched_nothing = true,
            Some(RowMark::MayBeHost) => self.may_be_host = true,
            Some(RowMark::NearFloor) => self.near_floor = true,
            None => {}
        }
    }

    /// The marks before numbers that were drawn.
    pub(super) fn add_drawn(&mut self, drawn: &BTreeSet<&'static str>) {
        let has = |mark: &str| drawn.iter().any(|drawn| drawn.contains(mark));
        self.doubt = self.doubt.and(Doubt {
            estimated: has(ESTIMATED),
            partial: has(PARTIAL),
            overlapping: has(OVERLAPPING),
            divided: has(DIVIDED),
        });
        self.inside |= has(INSIDE);
        self.shared_samples |= has(SHARED_SAMPLES);
    }

    /// The marks of both.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            launched_nothing: self.launched_nothing || other.launched_nothing,
            may_be_host: self.may_be_host || other.may_be_host,
            near_floor: self.near_floor || other.near_floor,
            doubt: self.doubt.and(other.doubt),
            inside: self.inside || other.inside,
            shared_samples: self.shared_samples || other.shared_samples,
        }
    }

    /// One line for each.
    pub(super) fn explained(
        self,
        profile: &Profile,
        full: bool,
    ) -> impl Iterator<Item = Paragraph> {
        let is_partial = |busy: &GpuBusy| busy.is_partial;
        let has_partial = self.doubt.partial || profile.gpu_busy.iter().any(is_partial);
        let lines = [
            self.launched_nothing.then(|| launched_nothing(profile)),
            self.may_be_host.then(|| may_be_host(profile)),
            self.near_floor.then(|| near_floor(profile)),
            self.doubt.estimated.then(|| estimates(profile, full)),
            has_partial.then(|| partial(profile)).flatten(),
            self.doubt.overlapping.then(overlapping),
            self.doubt.divided.then(|| divided(profile)),
            self.inside.then(inside),
            self.shared_samples.then(counters::shared_samples),
        ];
        lines.into_iter().flatten()
    }
}

/// The names of the functions with this mark, and what to do about them.
fn marked(mark: RowMark, text: &str, advice: &str, profile: &Profile) -> Paragraph {
    let functions = profile.functions.iter();
    let marked = functions.filter(|function| RowMark::of(function, None, profile) == Some(mark));
    let mut words = labelled(WARN, mark.text(), text);
    words.add_list(marked.map(|function| sanitize::name(&function.name)), NAMES);
    words.then(".").add(DIM, advice);
    words
}

fn launched_nothing(profile: &Profile) -> Paragraph {
    marked(
        RowMark::LaunchedNothing,
        "launched no kernel, copy or memset on its thread:",
        "The GPU time is that of the inherited stream. To leave it out: #[gpu_profile(cpu)].",
        profile,
    )
}

fn may_be_host(profile: &Profile) -> Paragraph {
    let mut words = marked(
        RowMark::MayBeHost,
        "may be host time:",
        "The stream is inherited, and most GPU spans are as long as the host took, or empty. If it \
         launches nothing: #[gpu_profile(cpu)].",
        profile,
    );
    if profile.is_cupti_off() {
        words.add(DIM, "GPUPROF_CUPTI=on shows what was launched.");
    }
    words
}

fn near_floor(profile: &Profile) -> Paragraph {
    let floor = number::duration(profile.diagnostics.event_overhead_ns.unwrap_or(0)).text();
    let mut words = Paragraph::default();
    words
        .add(WARN, "!")
        .add(
            PLAIN,
            &format!("average under {NEAR_FLOOR} × the event overhead of"),
        )
        .add_one(PLAIN, floor)
        .then(":")
        .add(PLAIN, "partly the measuring itself; annotate a caller");
    words
}

/// Estimated totals that the default report lists.
const FEW: usize = 2;

/// The sample and the 95 % interval of each estimated total, the largest first.
fn estimates(profile: &Profile, full: bool) -> Paragraph {
    let mut words = Paragraph::default();
    if profile.cupti.is_some() && !full {
        return labelled(
            WARN,
            ESTIMATED,
            "estimated from the sample; busy times and calls are exact",
        );
    }
    words
        .add(WARN, ESTIMATED)
        .add(PLAIN, "estimated from the sample, ± the 95 % interval:");
    let mut estimates: Vec<_> = (profile.functions.iter())
        .filter_map(|function| {
            let gpu = function.gpu.as_ref()?;
            Some((function, gpu, gpu.estimate.as_ref()?.total_ci95_ns))
        })
        .collect();
    sort_by_key(&mut estimates, |(_, gpu, _)| Reverse(gpu.times.total_ns));
    let listed = if full { NAMES } else { FEW };
    for (at, (function, gpu, interval)) in estimates.iter().take(listed).enumerate() {
        if at > 0 {
            words.then(",");
        }
        let (total, interval) = (
            number::duration(gpu.times.total_ns).text(),
            interval.map_or_else(|| "–".to_owned(), |half| number::duration(half).text()),
        );
        words
            .add_one(PLAIN, sanitize::name(&function.name))
            .add_one(PLAIN, format!("{total} ± {interval}"));
        if full {
            let (timed, calls) = (
                number::count(gpu.timed_calls).text(),
                number::count(function.calls).text(),
            );
            words.add_one(PLAIN, format!("(from {timed} of {calls} calls)"));
        }
    }
    if estimates.len() > listed {
        words.add_one(PLAIN, format!("+ {} more", estimates.len() - listed));
    }
    words.then(".").add(
        DIM,
        "Of n sampled calls, a kind of call rarer than 3 in n may be missing, so Max is ≥.",
    );
    words
}

/// How many of the calls each sum is made of, those that lack the most first.
/// `None`: all sums are of all calls.
fn partial(profile: &Profile) -> Option<Paragraph> {
    let mut parts: Vec<_> = (profile.functions.iter())
        .filter_map(|function| Some((function, qualifiers::timed_part(function)?)))
        .collect();
    if parts.is_empty() {
        return None;
    }
    sort_by_key(&mut parts, |(_, part)| Reverse(part.wanted - part.timed));
    let texts = parts.into_iter().map(|(function, part)| {
        let (timed, wanted) = (
            number::count(part.timed).text(),
            number::count(part.wanted).text(),
        );
        let name = sanitize::name(&function.name);
        let sampled = match function.untimed.sampled_out {
            0 => "",
            _ => " sampled",
        };
        Cow::Owned(format!("{name} {timed} of {wanted}{sampled}"))
    });
    let mut words = labelled(WARN, PARTIAL, "only part of the calls was timed:");
    words.add_list(texts, NAMES);
    Some(words)
}

fn overlapping() -> Paragraph {
    labelled(
        WARN,
        OVERLAPPING,
        "at most this: calls of several threads or tasks overlapped on a stream, and some were not \
         timed or could not be read",
    )
}

/// How many of the timed calls shared their stream, those of the most calls first.
fn divided(profile: &Profile) -> Paragraph {
    let mut shared: Vec<_> = (profile.functions.iter())
        .filter(|function| function.gpu_divided_calls > 0)
        .collect();
    sort_by_key(&mut shared, |function| Reverse(function.gpu_divided_calls));
    let texts = shared.into_iter().map(|function| {
        let timed = function.gpu.as_ref().map_or(0, |gpu| gpu.timed_calls);
        let (shared, timed) = (
            number::count(function.gpu_divided_calls).text(),
            number::count(timed).text(),
        );
        let name = sanitize::name(&function.name);
        Cow::Owned(format!("{name} {shared} of {timed}"))
    });
    let mut words = labelled(
        WARN,
        DIVIDED,
        "Span self has an equal part of the time in which calls shared a stream with other \
         threads or tasks:",
    );
    words.add_list(texts, NAMES);
    words
}

fn inside() -> Paragraph {
    labelled(
        WARN,
        INSIDE,
        "no stream of its own: the sum of the GPU spans inside",
    )
}
