//! Step times, for `assets/steps.js`.

use super::json_text::JsonText;
use crate::profile::{MAX_SLOWEST_STEPS, MAX_STEP_SERIES, StepTimes};

/// Adds the figures of all steps; the slowest as number, ns and the rank, if there is one; and the
/// series with the number of its first step.
pub(super) fn write(steps: &StepTimes, json: &mut JsonText) {
    json.object(|json| {
        json.key("count").integer(steps.count);
        json.key("mean_ns").integer(steps.mean_ns);
        json.key("min_ns").integer(steps.min_ns);
        json.key("max_ns").integer(steps.max_ns);
        json.key("slowest").array(|json| {
            for slow in steps.slowest.iter().take(MAX_SLOWEST_STEPS) {
                json.array(|json| {
                    json.integer(slow.step);
                    json.integer(slow.ns);
                    if let Some(rank) = slow.rank {
                        json.integer(rank.into());
                    }
                });
            }
        });
        // A document may list any number of them.
        let left_out = steps.series_ns.len().saturating_sub(MAX_STEP_SERIES);
        let first = steps.first_of_series().saturating_add(left_out as u64);
        json.key("first").integer(first);
        json.key("series").array(|json| {
            let series = steps.series_ns.iter().skip(left_out);
            series.for_each(|ns| json.integer(*ns));
        });
    });
}
