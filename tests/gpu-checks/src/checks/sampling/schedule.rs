//! A program under a schedule.

use promises::Tolerance;
use promises::schedules::{Steps, active_steps_count};

use crate::check::{Row, RunMode, rows};
use crate::device::{Gpu, TOLERANCE, failed_in};

const STEPS: Steps = Steps {
    wait: 3,
    warmup: 1,
    active: 4,
    cycles: 3,
    more: 8,
    calls_per_step: 20,
};

/// The first call of a step is on an idle stream, so that its span has time of the host. Calls of
/// another step differ by more.
const LONGER: Tolerance = Tolerance {
    longer: 0.1,
    ..TOLERANCE
};

pub(super) fn run(_: &RunMode) -> Result<Vec<Row>, String> {
    let gpu = Gpu::new().map_err(failed_in("the steps"))?;
    rows([active_steps_count(&gpu, STEPS, LONGER)])
}
