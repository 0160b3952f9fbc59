//! Promise: a stated amount that is not a number, negative or too large is counted and left out,
//! and rates are those of the other calls.

use std::time::Duration;

use promises::amounts;

use crate::check::{Check, Row, RunMode, rows};
use crate::device::{Gpu, failed_in};

pub(crate) const CHECKS: &[Check] = &[Check {
    name: "amounts",
    promise: "Invalid amounts are counted and left out of rates.",
    limit: Duration::from_secs(60),
    run,
}];

fn run(_: &RunMode) -> Result<Vec<Row>, String> {
    let gpu = Gpu::new().map_err(failed_in("the device"))?;
    rows([amounts::invalid_amounts(&gpu)])
}
