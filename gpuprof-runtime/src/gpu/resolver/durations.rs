//! What recorded pairs say: whether the GPU has passed them, and the time of a call on each of its
//! devices.
//!
//! On the resolver's thread, in the context of the events.

use smallvec::{SmallVec, smallvec};

use crate::gpu::driver::table::{CONTEXT_IS_DESTROYED, Driver, Failed};
use crate::gpu::events::pool::within;
use crate::gpu::resolver::channel::Recorded;

/// Whether the GPU has passed the pair's end event.
pub(in crate::gpu) fn has_passed(driver: &Driver, recorded: &Recorded) -> Result<bool, Failed> {
    let context = &recorded.context;
    let query = || driver.is_complete(recorded.pair.end);
    let lives = context.check(driver, recorded.is_held());
    let answer = lives.and_then(|()| within(driver, context.handle, query).flatten());
    answer.inspect_err(|&failed| context.note(failed))
}

/// Times by device. Almost always one, which then takes no allocation.
pub(in crate::gpu) type Times = SmallVec<[(u32, u64); 1]>;

/// First start to last end on each device; all of them or none.
pub(in crate::gpu) fn durations(driver: &Driver, recorded: &[Recorded]) -> Result<Times, Failed> {
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
    let lives = |one: &Recorded| one.context.check(driver, one.is_held());
    let both = lives(from).and_then(|()| lives(to));
    if both == Err(Failed(CONTEXT_IS_DESTROYED)) {
        driver.count_ended_context();
    }
    let answer = both.and_then(|()| within(driver, context.handle, read).flatten());
    answer.inspect_err(|&failed| context.note(failed))
}
