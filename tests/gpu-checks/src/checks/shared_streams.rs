//! Promise: the time of a stream that several threads or tasks use at once is divided among their
//! calls, so that exclusive times never exceed the time that the stream was covered.
//!
//! `busy_server` checks the sums in a program of several threads.

mod busy_server;

use std::time::Duration;

use promises::shared_streams;

use crate::check::{Check, Row, RunMode, rows};
use crate::device::{Gpu, TOLERANCE, failed_in};

pub(crate) const CHECKS: &[Check] = &[Check {
    name: "shared-streams",
    promise: "Calls that overlap on one stream divide its time, and on different streams do not.",
    limit: Duration::from_secs(120),
    run,
}];

fn run(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let gpu = &Gpu::new().map_err(failed_in("the device"))?;
    let mut rows = rows([
        shared_streams::shared_all_the_time(gpu, TOLERANCE),
        shared_streams::shared_in_part(gpu, TOLERANCE),
        shared_streams::in_turn(gpu, TOLERANCE),
        shared_streams::joined_futures(gpu, TOLERANCE),
        shared_streams::on_a_stream_each(gpu, TOLERANCE),
        shared_streams::on_the_per_thread_stream(gpu, TOLERANCE),
    ])?;
    rows.extend(busy_server::run(run_mode, gpu)?);
    Ok(rows)
}
