//! Promise: each call is timed on its own stream or streams and on no other, whatever the kind and
//! origin of the stream.

use std::time::Duration;

use promises::streams;

use crate::check::{Check, Row, RunMode, rows};
use crate::device::{Gpu, SIMULATED_OVERHEAD_NS, TOLERANCE, failed_in};

pub(crate) const CHECKS: &[Check] = &[Check {
    name: "streams",
    promise: "Calls are timed on their own streams, of every kind.",
    limit: Duration::from_secs(60),
    run,
}];

fn run(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let gpu = &Gpu::new().map_err(failed_in("the device"))?;
    let calls = if run_mode.short { 4 } else { 20 };
    let mut around_others = TOLERANCE;
    if run_mode.simulated {
        around_others.nested_ns = SIMULATED_OVERHEAD_NS;
    }
    rows([
        streams::of_every_kind(gpu, calls, TOLERANCE),
        streams::of_raw_handles(gpu, calls, TOLERANCE),
        streams::of_each_thread(gpu, calls, around_others),
        streams::from_the_first_start_to_the_last_end(gpu, TOLERANCE),
        streams::beside_other_work(gpu, TOLERANCE),
        streams::given_by_with_stream(gpu, TOLERANCE),
        streams::never_assumed(gpu),
    ])
}
