//! How close kernels came to the peaks of the device's units, for the bars of the page.

use super::json_text::JsonText;
use crate::peak_shares::{self, BOUND_SHARE, Unit};
use crate::profile::{CounterValues, Profile};
use crate::table::page_parts;

/// Of a kernel or function: its position, the values that the shares are from, and the shares.
type Row<'a> = (usize, Option<&'a CounterValues>, Vec<(Unit, f64)>);

/// Adds a record for each kernel and function that was sampled, by position; nothing if none was.
pub(super) fn write(profile: &Profile, json: &mut JsonText) {
    let devices = &profile.devices;
    let kernels = profile.kernels.iter().enumerate().filter_map(|(at, of)| {
        let shares = peak_shares::of_kernel(of, devices)?;
        Some((at, of.counters.as_deref(), shares))
    });
    let functions = profile.functions.iter().enumerate();
    let functions = functions.filter_map(|(at, of)| {
        let shares = peak_shares::of_function(of, devices)?;
        Some((at, of.activity.counters.as_deref(), shares))
    });
    let [kernels, functions]: [Vec<Row<'_>>; 2] = [kernels.collect(), functions.collect()];
    if kernels.is_empty() && functions.is_empty() {
        return;
    }
    json.key("peaks").object(|json| {
        json.key("bound_share").number(BOUND_SHARE);
        for (key, rows) in [("kernels", kernels), ("functions", functions)] {
            json.key(key).object(|json| {
                for row in &rows {
                    record(row, json);
                }
            });
        }
    });
}

/// The mark of the values, and each unit with its share, the nearest peak first.
fn record((at, counters, shares): &Row<'_>, json: &mut JsonText) {
    json.key(&at.to_string()).object(|json| {
        let mark = counters.map_or("", page_parts::counter_mark);
        json.key("mark").string(mark);
        json.key("shares").array(|json| {
            for (unit, share) in shares {
                json.array(|json| {
                    json.string(&unit.to_string());
                    json.number(*share);
                });
            }
        });
    });
}
