//! What limits the slowest kernels, one line for each: the units by their measured shares of their
//! peaks.

use std::cmp::Reverse;

use super::activities::ActivityNames;
use super::number;
use super::options::TableOptions;
use super::words::{BOLD, PLAIN, Paragraph};
use crate::peak_shares::{self, BOUND_SHARE, Unit, own_samples};
use crate::profile::{KernelStats, Profile};
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

/// The lines, of the kernels with the most time first. The full report has every sampled kernel,
/// and every unit.
fn lines(profile: &Profile, options: &TableOptions) -> Vec<Paragraph> {
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
    let lines = slowest.into_iter().filter_map(|kernel| {
        own_samples(kernel.counters.as_deref())?;
        let mut shares = peak_shares::of_kernel(kernel, &profile.devices)?;
        shares.truncate(units);
        line(names.kernel(kernel), &shares)
    });
    lines.take(kernels).collect()
}

fn line(name: String, shares: &[(Unit, f64)]) -> Option<Paragraph> {
    let (_, nearest) = shares.first()?;
    let mut words = Paragraph::default();
    words.add(BOLD, "why").add_one(PLAIN, format!("{name}:"));
    if *nearest < BOUND_SHARE {
        words.add(PLAIN, "waits (latency); nearest are");
    }
    let shares: Vec<_> = shares.iter().map(share_text).collect();
    words.add(PLAIN, &format!("{} of the peak", shares.join(", ")));
    Some(words)
}

fn share_text((unit, share): &(Unit, f64)) -> String {
    let percent = number::percent(*share).map_or_else(String::new, |share| share.text());
    format!("{unit} {percent} %")
}
