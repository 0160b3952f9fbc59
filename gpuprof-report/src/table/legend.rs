//! The marks of a report and the lines that explain those that were drawn.

use std::borrow::Cow;
use std::cmp::Reverse;

use super::diagnostics::{NAMES, labelled};
use super::number;
use super::qualifiers::{self, Doubt, ESTIMATED, NEAR_FLOOR, OVERLAPPING, PARTIAL};
use super::words::{PLAIN, WARN, Words};
use crate::profile::Profile;
use crate::sanitize;

/// Before the GPU time of the spans inside a function without a stream.
pub(super) const INSIDE: &str = "Σ";
/// The same where streams overlap.
pub(super) const INSIDE_OVERLAPPING: &str = "Σ≤";
/// The same where some of it is scaled up from a sample.
pub(super) const INSIDE_ESTIMATED: &str = "Σ~";
/// The same where calls inside went untimed.
pub(super) const INSIDE_PARTIAL: &str = "Σ≥";

/// The marks that were drawn and so want an explanation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Marks {
    /// A row near the event overhead.
    pub(super) near_floor: bool,
    /// [`ESTIMATED`], [`PARTIAL`] and [`OVERLAPPING`], also where one stands in the place of
    /// another.
    pub(super) doubt: Doubt,
    /// [`INSIDE`].
    pub(super) inside: bool,
}

impl Marks {
    /// One line for each.
    pub(super) fn explained(self, profile: &Profile) -> impl Iterator<Item = Words> {
        let lines = [
            self.near_floor.then(|| near_floor(profile)),
            self.doubt.estimated.then(|| estimates(profile)),
            self.doubt.partial.then(|| partial(profile)),
            self.doubt.overlapping.then(overlapping),
            self.inside.then(inside),
        ];
        lines.into_iter().flatten()
    }
}

fn near_floor(profile: &Profile) -> Words {
    let floor = number::duration(profile.diagnostics.event_overhead_ns.unwrap_or(0)).text();
    let mut words = Words::default();
    words
        .add(WARN, "!")
        .add(
            PLAIN,
            &format!("GPU average under {NEAR_FLOOR} × the event overhead of"),
        )
        .add_one(PLAIN, floor)
        .then(":")
        .add(
            PLAIN,
            "part of it is the measuring itself; annotate a caller that does more per call",
        );
    words
}

/// The sample and the 95 % interval of each estimated total, the largest first.
fn estimates(profile: &Profile) -> Words {
    let mut words = Words::default();
    words.add(WARN, ESTIMATED).add(
        PLAIN,
        "GPU self and total are scaled up from a random sample; total with 95 % interval:",
    );
    let mut estimates: Vec<_> = (profile.functions.iter())
        .filter_map(|function| {
            let gpu = function.gpu.as_ref()?;
            Some((function, gpu, gpu.estimate.as_ref()?.total_ci95_ns))
        })
        .collect();
    estimates.sort_by_key(|(_, gpu, _)| Reverse(gpu.times.total_ns));
    for (at, (function, gpu, interval)) in estimates.iter().take(NAMES).enumerate() {
        if at > 0 {
            words.then(",");
        }
        let (total, interval) = (
            number::duration(gpu.times.total_ns).text(),
            number::duration(*interval).text(),
        );
        let (timed, calls) = (
            number::count(gpu.timed_calls).text(),
            number::count(function.calls).text(),
        );
        words
            .add_one(PLAIN, sanitize::name(&function.name))
            .add_one(PLAIN, format!("{total} ± {interval}"));
        words.add_one(PLAIN, format!("(from {timed} of {calls} calls)"));
    }
    if estimates.len() > NAMES {
        words.add_one(PLAIN, format!("+ {} more", estimates.len() - NAMES));
    }
    words
}

/// How many of the calls each sum is made of, those that lack the most first.
fn partial(profile: &Profile) -> Words {
    let mut parts: Vec<_> = (profile.functions.iter())
        .filter_map(|function| Some((function, qualifiers::part_timed(function)?)))
        .collect();
    parts.sort_by_key(|(_, part)| Reverse(part.wanted - part.timed));
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
    words
}

fn overlapping() -> Words {
    labelled(
        WARN,
        OVERLAPPING,
        "at most this: spans of several threads or tasks overlapped on a stream, and how long is \
         not known",
    )
}

fn inside() -> Words {
    labelled(
        WARN,
        INSIDE,
        "no stream of its own: the sum of the GPU spans inside",
    )
}
