//! Completes a sample that the GPU has finished: reads its times, adds them to the totals, and
//! returns its events to the pool. Runs on the resolver's thread.

use smallvec::{SmallVec, smallvec};

use crate::gpu::child_time::Enclosing;
use crate::gpu::driver::table::{CONTEXT_IS_DESTROYED, Driver, Failed, NOT_READY};
use crate::gpu::events::pool::within;
use crate::gpu::resolver::channel::{Recorded, Sample};
use crate::gpu::timer::Timing;
use crate::stats::ended_call::StatedWork;
use crate::stats::gpu_totals::{GpuTotals, TimedCall};

/// The sample is not complete after all: its stream was destroyed with work queued, and a newer
/// stream, which is ahead, has its address.
pub(in crate::gpu) struct NotYet;

/// Reads the times of a completed sample, books them, and gives its events back.
pub(in crate::gpu) fn finish(
    timing: &Timing,
    driver: &Driver,
    sample: &Sample,
) -> Result<(), NotYet> {
    let durations = durations(driver, sample.pairs.as_slice());
    if durations == Err(Failed(NOT_READY)) {
        return Err(NotYet);
    }
    {
        let mut totals = timing.totals().lock();
        // Under the lock, so that a reset between the check and the booking is impossible.
        let wanted = totals.get_mut(sample.epoch);
        let close = |booked, ns| {
            let inside = sample.inside.as_ref();
            inside.map_or(0, |inside| inside.close(booked, ns))
        };
        match (durations, wanted) {
            (Ok(durations), Some(stats)) => {
                let ns = durations.first().map_or(0, |(_, ns)| *ns);
                let inside_ns = close(true, ns);
                add_all(stats, sample, &durations, inside_ns);
                tell_enclosing(stats, sample, &durations);
                tell_rates(timing, sample, ns);
            }
            (_, Some(stats)) if !driver.has_ended() => {
                close(false, 0);
                stats.fail(&sample.call);
            }
            _ => {
                close(false, 0);
            }
        }
    }
    sample.pairs.recycle();
    Ok(())
}

/// Books a sample as one that cannot be read.
pub(in crate::gpu) fn give_up(timing: &Timing, sample: &Sample) {
    {
        let mut totals = timing.totals().lock();
        if let Some(inside) = &sample.inside {
            inside.close(false, 0);
        }
        if let Some(stats) = totals.get_mut(sample.epoch) {
            stats.fail(&sample.call);
        }
    }
    sample.pairs.recycle();
}

fn add_all(stats: &mut GpuTotals, sample: &Sample, durations: &[(u32, u64)], inside_ns: u64) {
    let work = sample.work.as_deref().unwrap_or(&StatedWork::NONE);
    for (at, &(device, ns)) in durations.iter().enumerate() {
        let call = TimedCall {
            device,
            counts: at == 0,
            ..sample.call
        };
        stats.add(&call, work, ns, inside_ns);
    }
}

/// How long the calls of a function are decides how many are timed.
fn tell_rates(timing: &Timing, sample: &Sample, ns: u64) {
    let recorded = sample.pairs.as_slice();
    if let (Some(rates), Some(one)) = (timing.rates(), recorded.first())
        && let Some(floor_ns) = one.context.event_overhead_ns()
    {
        rates.note(sample.call.site, ns, recorded.len(), floor_ns);
    }
}

/// The enclosing call on the same stream must not count this time as its own. It usually resolves
/// later; a future that moved between threads may have been quicker.
fn tell_enclosing(stats: &mut GpuTotals, sample: &Sample, durations: &[(u32, u64)]) {
    if let (Some(enclosing), [(device, ns)]) = (&sample.enclosing, durations) {
        let parent = sample.call.parent;
        let TimedCall {
            weight_in_parent,
            draw,
            ..
        } = sample.call;
        if enclosing.add(*ns, weight_in_parent) == Enclosing::Booked {
            stats.subtract_from_self(parent, *device, ns.saturating_mul(u64::from(draw.weight)));
        }
    }
}

/// Whether the GPU has passed the pair's end event.
pub(in crate::gpu) fn has_passed(driver: &Driver, recorded: &Recorded) -> Result<bool, Failed> {
    let context = &recorded.context;
    let query = || driver.is_complete(recorded.pair.end);
    let lives = context.check(driver, context.is_held());
    let answer = lives.and_then(|()| within(driver, context.handle, query).flatten());
    answer.inspect_err(|&failed| context.note(failed))
}

/// Times by device. Almost always one, which then takes no allocation.
type Times = SmallVec<[(u32, u64); 1]>;

/// First start to last end on each device; all of them or none.
fn durations(driver: &Driver, recorded: &[Recorded]) -> Result<Times, Failed> {
    if let [one] = recorded {
        return Ok(smallvec![(one.context.device, elapsed(driver, one, one)?)]);
    }
    let mut devices: Vec<u32> = recorded.iter().map(|one| one.context.device).collect();
    devices.sort_unstable();
    devices.dedup();
    let longest_on = |device: u32| {
        let here = || {
            recorded
                .iter()
                .filter(move |one| one.context.device == device)
        };
        let spans = here().flat_map(|from| here().map(move |to| elapsed(driver, from, to)));
        spans
            .reduce(|a, b| a.and_then(|a| b.map(|b| a.max(b))))
            .unwrap_or(Ok(0))
    };
    devices
        .into_iter()
        .map(|device| Ok((device, longest_on(device)?)))
        .collect()
}

fn elapsed(driver: &Driver, from: &Recorded, to: &Recorded) -> Result<u64, Failed> {
    let context = &from.context;
    let read = || driver.elapsed_ns(from.pair.start, to.pair.end);
    let lives = |one: &Recorded| one.context.check(driver, one.context.is_held());
    let both = lives(from).and_then(|()| lives(to));
    if both == Err(Failed(CONTEXT_IS_DESTROYED)) {
        driver.count_ended_context();
    }
    let answer = both.and_then(|()| within(driver, context.handle, read).flatten());
    answer.inspect_err(|&failed| context.note(failed))
}
