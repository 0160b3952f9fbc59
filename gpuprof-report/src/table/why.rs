//! What limits the slowest kernels, a line for each: the units by their measured shares of their
//! peaks; and another one for what their warps wait for.

use std::cmp::Reverse;

use super::activities::ActivityNames;
use super::number;
use super::options::TableOptions;
use super::stalls;
use super::words::{BOLD, PLAIN, Paragraph};
use crate::peak_shares::{self, BOUND_SHARE, own_samples};
use crate::profile::{KernelStalls, KernelStats, Metric, Profile};
use crate::sorting::sort_by_key;

/// How many kernels the default report explains, and from which share of the time of all on.
const MAX_KERNELS: usize = 3;
const MIN_SHARE: f64 = 0.05;
/// How many units it names for each.
const MAX_UNITS: usize = 3;

/// Writes the lines, and an empty one.
pub(super) fn write(profile: &Profile, options: &TableOptions, out: &mut String) {
    let lines = lines(profile, options);
    for line in &lines {
        line.write(out, options.color, options.width, 2);
    }
    if !lines.is_empty() {
        out.push('\n');
    }
}

/// What is said of a kernel.
struct Explained<'a> {
    why: Option<Paragraph>,
    stalls: Option<&'a KernelStalls>,
}

/// The kernels with the most time first. The full report has every sampled kernel, and every unit.
fn explained<'a>(profile: &'a Profile, options: &TableOptions) -> Vec<Explained<'a>> {
    let (kernels, units, min_share) = if options.full {
        (usize::MAX, usize::MAX, 0.0)
    } else {
        (MAX_KERNELS, MAX_UNITS, MIN_SHARE)
    };
    let names = ActivityNames::new(profile, options);
    let all = number::total(profile.kernels.iter().map(|kernel| kernel.times.total_ns));
    let is_slow = |kernel: &&KernelStats| kernel.times.total_ns as f64 >= min_share * all as f64;
    let mut slowest: Vec<_> = profile.kernels.iter().filter(is_slow).collect();
    sort_by_key(&mut slowest, |kernel| Reverse(kernel.times.total_ns));
    let sampled = stalls::by_name(profile);
    let mut to_tell = sampled.clone();
    let explained = slowest.into_iter().map(|kernel| {
        let name = &*kernel.name;
        Explained {
            why: why(kernel, profile, &names, units, sampled.get(name).copied()),
            // Once, where it ran on several devices.
            stalls: to_tell.remove(name),
        }
    });
    let is_told = |of: &Explained<'_>| of.why.is_some() || of.stalls.is_some();
    explained.filter(is_told).take(kernels).collect()
}

/// The lines of these kernels. In the full report a table has what they wait for.
fn lines(profile: &Profile, options: &TableOptions) -> Vec<Paragraph> {
    let explained = explained(profile, options);
    if options.full {
        return explained.into_iter().filter_map(|of| of.why).collect();
    }
    let shown = with_stalls(&explained);
    let mut lines = Vec::new();
    for of in explained {
        lines.extend(of.why);
        lines.extend(of.stalls.map(|stalls| stalls::paragraph(stalls, options)));
    }
    lines.extend(stalls::remarks(profile, &shown));
    lines
}

/// What the default report says of the waits of the slowest kernels.
#[cfg(feature = "html")]
pub(super) fn waits(profile: &Profile) -> Vec<Paragraph> {
    let options = TableOptions::default();
    let shown = with_stalls(&explained(profile, &options));
    let lines = shown
        .iter()
        .map(|stalls| stalls::paragraph(stalls, &options));
    lines.chain(stalls::remarks(profile, &shown)).collect()
}

/// What samples of program counters say of the kernels.
fn with_stalls<'a>(explained: &[Explained<'a>]) -> Vec<&'a KernelStalls> {
    explained.iter().filter_map(|of| of.stalls).collect()
}

fn why(
    kernel: &KernelStats,
    profile: &Profile,
    names: &ActivityNames<'_>,
    units: usize,
    stalls: Option<&KernelStalls>,
) -> Option<Paragraph> {
    own_samples(kernel.counters.as_deref())?;
    let mut shares = peak_shares::of_kernel(kernel, &profile.devices)?;
    shares.truncate(units);
    let (_, nearest) = shares.first()?;
    let mut words = Paragraph::new(BOLD, "why");
    let name = names.kernel(kernel);
    words.add_one(PLAIN, format!("{name}:"));
    if *nearest < BOUND_SHARE {
        words.add(PLAIN, "waits (latency)");
        let wait = stalls.and_then(stalls::main_wait);
        let wait = wait.map(|wait| format!("mostly {wait}"));
        for text in occupancy(kernel).into_iter().chain(wait) {
            words.then(",").add(PLAIN, &text);
        }
        words.then(";").add(PLAIN, "nearest are");
    }
    let shares = shares.iter();
    let shares: Vec<_> = shares
        .map(|(unit, share)| share_text(&unit.to_string(), *share))
        .collect();
    words.add(PLAIN, &format!("{} of the peak", shares.join(", ")));
    Some(words)
}

/// The achieved occupancy, or the theoretical one of the launch.
fn occupancy(kernel: &KernelStats) -> Option<String> {
    let achieved = kernel.counters.as_ref()?.mean(Metric::WarpsActive);
    let achieved = achieved.map(|share| share_text("occupancy", share));
    let theoretical = || Some(share_text("theoretical occupancy", kernel.occupancy?));
    achieved.or_else(theoretical)
}

fn share_text(of: &str, share: f64) -> String {
    let percent = number::percent(share).map_or_else(String::new, |share| share.text());
    format!("{of} {percent} %")
}
