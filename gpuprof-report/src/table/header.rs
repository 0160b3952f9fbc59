//! The lines above a report: what ran, on what, for how long, and how busy the GPU was.

use super::memory_lines;
use super::number;
use super::options::TableOptions;
use super::qualifiers::{ESTIMATED, OVERLAPPING, PARTIAL};
use super::row;
use super::words::{BOLD, DIM, LOUD, PLAIN, Paragraph, WARN};
use crate::collectives::Collective;
use crate::profile::{BusyRecords, CopyKind, Device, GpuBusy, KernelStats, Profile, StepTimes};
use crate::sanitize;
use crate::sorting::sort_by_key;

/// Devices whose busy time is listed one by one.
const LISTED_DEVICES: usize = 4;
/// A kernel with such a share of the GPU time is named.
const LARGE_KERNEL: f64 = 0.2;

/// Writes the header, and on a simulated device the line that says what its times are worth.
pub(super) fn write(profile: &Profile, options: &TableOptions, out: &mut String) {
    let mut lines = vec![run(profile)];
    lines.extend(time_by_kind(profile));
    lines.extend(idle(profile));
    lines.extend(memory_lines::header(profile));
    if let Some(steps) = &profile.steps {
        let mut words = Paragraph::new(DIM, "steps:");
        words.add_one(PLAIN, step_times(steps));
        lines.push(words);
    }
    if profile.devices.iter().any(|device| device.simulated) {
        lines.push(Paragraph::new(
            WARN,
            "simulated device: GPU times are modelled, not measured; CPU times include the \
             simulation",
        ));
    }
    for line in lines {
        line.write(out, options.color, options.width, 2);
    }
}

/// Program, devices, wall time and GPU time.
fn run(profile: &Profile) -> Paragraph {
    let mut words = Paragraph::new(DIM, "gpuprof");
    words.add_one(BOLD, sanitize::name(&profile.program));
    if let Some(rank) = profile.rank {
        let of = profile.world_size.map(|size| format!(" of {size}"));
        let (of, host) = (of.unwrap_or_default(), sanitize::name(&profile.host));
        words
            .then(",")
            .add_one(PLAIN, format!("rank {rank}{of} on {host}"));
    }
    words.then(" ·");
    if profile.devices.iter().any(|device| device.simulated) {
        words.add_one(LOUD, "simulated device").then(" ·");
    }
    for name in device_names(profile) {
        words.add_one(PLAIN, name).then(" ·");
    }
    words
        .add_one(
            PLAIN,
            format!("wall {}", number::duration(profile.wall_ns).text()),
        )
        .then(" ·");
    match gpu_time(profile) {
        Some(text) => words.add_one(BOLD, text),
        // Without its busy time: from a version that did not have it.
        None if is_timed(profile) => words.add(PLAIN, "GPU time as below"),
        None => words.add(PLAIN, "no GPU time"),
    };
    words
}

/// How busy the devices were; without CUPTI, for how long GPU spans were open; `None` if nothing
/// was timed.
pub(crate) fn gpu_time(profile: &Profile) -> Option<String> {
    // With CUPTI too, if records are missing.
    let what = if has_records(profile) {
        "GPU busy"
    } else {
        "GPU spans"
    };
    let of_device = |busy: &GpuBusy| {
        // The sum of sampled spans says nothing about the time that they took together.
        if busy.is_upper_bound && busy.is_estimated && busy.busy_ns >= profile.wall_ns {
            return "not known, sampled spans overlap; GPUPROF_SAMPLE=1".to_owned();
        }
        let interval = busy
            .busy_ci95_ns
            .map(number::duration)
            .map_or_else(String::new, |half| format!(" ± {}", half.text()));
        let share = busy.busy_ns as f64 / profile.wall_ns as f64;
        // Work that was queued in the window may run after it.
        let share = number::percent(share).filter(|_| share <= 1.0);
        let share = share.map_or_else(String::new, |share| format!(" ({} %)", share.text()));
        let time = number::duration(busy.busy_ns).text();
        let marks = marks(std::slice::from_ref(busy));
        format!("{marks}{time}{interval}{share}")
    };
    match profile.gpu_busy.as_slice() {
        [] => None,
        [busy] => Some(format!("{what} {}", of_device(busy))),
        several if several.len() <= LISTED_DEVICES => {
            let each: Vec<String> = several
                .iter()
                .map(|busy| format!("GPU {} {}", busy.device, of_device(busy)))
                .collect();
            Some(format!("{what}: {}", each.join(", ")))
        }
        many => {
            let shares = || {
                let shares = many.iter().map(|busy| busy.busy_ns as f64);
                shares.map(|ns| ns / profile.wall_ns as f64)
            };
            let text = |share| number::percent(share).map_or_else(String::new, |n| n.text());
            let mean = shares().sum::<f64>() / many.len() as f64;
            Some(format!(
                "{what} {}{} % of wall on average over {} devices ({} to {} %)",
                marks(many),
                text(mean),
                many.len(),
                text(shares().fold(f64::INFINITY, f64::min)),
                text(shares().fold(0.0, f64::max)),
            ))
        }
    }
}

/// What is to be said before a figure of these devices.
fn marks(busy: &[GpuBusy]) -> String {
    let is_any = |property: fn(&GpuBusy) -> bool| busy.iter().any(property);
    let (above, below) = (
        is_any(|busy| busy.is_upper_bound),
        is_any(|busy| busy.is_partial),
    );
    let bound = match (above, below) {
        (true, false) => format!("{OVERLAPPING} "),
        (false, true) => format!("{PARTIAL} "),
        _ => String::new(),
    };
    // What counts some time twice and lacks calls is no bound.
    let is_about = is_any(|busy| busy.is_estimated) || (above && below);
    bound + if is_about { ESTIMATED } else { "" }
}

/// Shares of kernels and each kind of copy in the time of all of them, and the largest kernel.
fn time_by_kind(profile: &Profile) -> Option<Paragraph> {
    let ns_of = |is_collective: bool| {
        let of_kind = move |kernel: &&KernelStats| {
            Collective::of_kernel(&kernel.symbol).is_some() == is_collective
        };
        let kernels = profile.kernels.iter().filter(of_kind);
        number::total(kernels.map(|kernel| kernel.times.total_ns))
    };
    let mut kinds: Vec<(String, u64)> = vec![
        ("kernels".to_owned(), ns_of(false)),
        (COLLECTIVES.to_owned(), ns_of(true)),
    ];
    for copies in &profile.copies {
        let name = match copies.kind {
            CopyKind::Memset => "memsets".to_owned(),
            kind => format!("copies {kind}"),
        };
        match kinds.iter_mut().find(|(known, _)| *known == name) {
            Some((_, ns)) => *ns = ns.saturating_add(copies.times.total_ns),
            None => kinds.push((name, copies.times.total_ns)),
        }
    }
    let all = number::total(kinds.iter().map(|(_, ns)| *ns));
    let largest = profile
        .kernels
        .iter()
        .max_by_key(|kernel| kernel.times.total_ns);
    let percent = |ns: u64| number::percent(ns as f64 / all as f64);
    let mut words = Paragraph::new(DIM, "GPU work:");
    kinds.retain(|(_, ns)| *ns > 0);
    sort_by_key(&mut kinds, |(_, ns)| std::cmp::Reverse(*ns));
    for (at, (name, ns)) in kinds.iter().enumerate() {
        if at > 0 {
            words.then(",");
        }
        words.add_one(PLAIN, format!("{name} {} %", percent(*ns)?.text()));
        if *name == COLLECTIVES
            && let Some(beside_ns) = beside_others(profile)
        {
            let share = number::percent(beside_ns as f64 / *ns as f64)?.text();
            words.add(PLAIN, &format!("({share} % of it beside other kernels)"));
        }
    }
    if let Some(kernel) = largest.filter(|_| profile.kernels.len() > 1)
        && kernel.times.total_ns as f64 >= LARGE_KERNEL * all as f64
    {
        let share = percent(kernel.times.total_ns)?.text();
        words
            .then(";")
            .add(PLAIN, "largest kernel")
            .add_one(PLAIN, format!("{} {share} %", sanitize::name(&kernel.name)));
    }
    (all > 0).then_some(words)
}

/// The kind of NCCL's kernels.
const COLLECTIVES: &str = "NCCL collectives";

/// For how long collectives ran while another kernel did, ns; `None` if that is unknown.
fn beside_others(profile: &Profile) -> Option<u64> {
    let kernels = profile.kernels.iter();
    let mut collectives = kernels.filter(|kernel| Collective::of_kernel(&kernel.symbol).is_some());
    collectives.try_fold(0_u64, |sum, kernel| {
        Some(sum.saturating_add(kernel.concurrent_ns?))
    })
}

/// What the devices waited for between their first and last activity. Idle time whose end is an
/// activity of an unknown call is with that before and after.
fn idle(profile: &Profile) -> Option<Paragraph> {
    let records: Vec<BusyRecords> = profile
        .gpu_busy
        .iter()
        .filter_map(|busy| busy.records)
        .collect();
    let sum = |field: fn(&BusyRecords) -> u64| number::total(records.iter().map(field));
    let mut parts = [
        ("nothing launched", sum(|records| records.idle_host_ns)),
        ("launch under way", sum(|records| records.idle_launch_ns)),
        (
            "launched work waiting",
            sum(|records| records.idle_queued_ns),
        ),
    ];
    sort_by_key(&mut parts, |(_, ns)| std::cmp::Reverse(*ns));
    let all = number::total(parts.iter().map(|(_, ns)| *ns));
    let mut words = Paragraph::new(DIM, "GPU idle:");
    // Of one device it is known what is left of the wall time.
    if let ([busy], true) = (profile.gpu_busy.as_slice(), records.len() == 1) {
        let ends = profile
            .wall_ns
            .saturating_sub(busy.busy_ns.saturating_add(all));
        words
            .add_one(PLAIN, number::duration(ends).text())
            .add(PLAIN, "before and after its work,");
    }
    let devices = records.len().max(1) as u64;
    words
        .add_one(PLAIN, number::duration(all / devices).text())
        .add(
            PLAIN,
            match devices {
                1 => "between:",
                _ => "between its work, on average per GPU:",
            },
        );
    let mut parts = parts.into_iter().filter(|(_, ns)| *ns > 0).peekable();
    while let Some((what, ns)) = parts.next() {
        let share = number::percent(ns as f64 / all as f64)?;
        words
            .add_one(PLAIN, format!("{} %", share.text()))
            .add(PLAIN, what);
        if parts.peek().is_some() {
            words.then(",");
        }
    }
    (all > 0).then_some(words)
}

/// The GPU times that shares are of.
pub(super) fn wholes(profile: &Profile) -> super::columns::Wholes {
    let all = number::total(profile.gpu_busy.iter().map(|busy| busy.busy_ns));
    let roots = profile.tree.iter().filter(|node| node.parent.is_none());
    let spans = number::total(roots.map(row::gpu_inclusive));
    let whole = if all > 0 { all } else { spans };
    let busy_ns = if has_records(profile) && all > 0 {
        all
    } else {
        // Records are missing, or are of an older version: of all work that there is.
        work_ns(profile)
    };
    super::columns::Wholes {
        busy_ns: profile.cupti.is_some().then_some(busy_ns),
        gpu_ns: whole,
    }
}

/// Time of all kernels, copies and memsets, ns.
pub(super) fn work_ns(profile: &Profile) -> u64 {
    let kernels = profile.kernels.iter().map(|kernel| kernel.times.total_ns);
    let copies = profile.copies.iter().map(|copies| copies.times.total_ns);
    number::total(kernels.chain(copies))
}

/// Whether a function has GPU spans.
pub(super) fn is_timed(profile: &Profile) -> bool {
    let mut functions = profile.functions.iter();
    functions.any(|function| function.gpu.is_some())
}

/// Whether the busy times are those of records.
fn has_records(profile: &Profile) -> bool {
    profile.gpu_busy.iter().all(|busy| busy.records.is_some())
}

/// How many steps there were, their mean time, and the slowest.
fn step_times(steps: &StepTimes) -> String {
    let mean = number::duration(steps.mean_ns).text();
    let mut text = format!("{}, mean {mean}", number::count(steps.count).text());
    if let Some(slow) = steps.slowest.first().filter(|_| steps.count > 1) {
        let rank = slow.rank.map(|rank| format!(" of rank {rank}"));
        text += &format!(
            ", slowest {} (step {}{})",
            number::duration(slow.ns).text(),
            number::count(slow.step).text(),
            rank.unwrap_or_default()
        );
    }
    text
}

/// Each name once, with how many devices bear it, safe to show.
pub(crate) fn device_names(profile: &Profile) -> Vec<String> {
    let mut names: Vec<(&str, usize)> = Vec::new();
    // The simulated device has no better name than the words that stand there already.
    let named = |device: &&Device| !(device.simulated && device.name == "simulated device");
    for device in profile.devices.iter().filter(named) {
        match names.iter_mut().find(|(name, _)| *name == device.name) {
            Some((_, count)) => *count += 1,
            None => names.push((&device.name, 1)),
        }
    }
    let text = |(name, count): (&str, usize)| match count {
        1 => sanitize::name(name).into_owned(),
        _ => format!("{count} × {}", sanitize::name(name)),
    };
    names.into_iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_counts_time_twice_and_lacks_calls_is_no_bound() {
        let marks = |is_upper_bound, is_partial, is_estimated| {
            marks(&[GpuBusy {
                is_upper_bound,
                is_partial,
                is_estimated,
                ..GpuBusy::default()
            }])
        };
        assert_eq!(marks(false, false, false), "");
        assert_eq!(marks(true, false, true), "≤ ~");
        assert_eq!(marks(false, true, false), "≥ ");
        assert_eq!(marks(false, true, true), "≥ ~");
        assert_eq!(marks(true, true, false), "~");
    }
}
