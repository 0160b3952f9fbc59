//! Finds the code that runs a row on one thread.

use std::time::{Duration, Instant};

use crate::rows_with_launches::ThreadLaunches;
use crate::{
    loop_under_test, other_profilers, rows_with_launches, rows_without_cuda, tracing_layers,
};

/// Makes this many calls and returns their time.
pub(crate) type Runner = Box<dyn FnMut(u64) -> Result<Duration, String>>;

/// The runner of `row` on the calling thread, one of `threads`. GPU rows open a device, or the
/// simulated one.
///
/// # Errors
/// The row is unknown, or its device cannot be used.
pub(crate) fn runner(row: &str, threads: u64) -> Result<Runner, String> {
    let failed = |error: cudarc::driver::DriverError| format!("{row}: {error}");
    let mut launches = rows_with_launches::ROWS.iter();
    if let Some(launches) = launches.find(|known| known.name == row) {
        simcuda::real_or_simulated();
        let thread = ThreadLaunches::new(*launches, threads).map_err(failed)?;
        let row = row.to_owned();
        return Ok(Box::new(move |calls| {
            let ran = thread.run(calls);
            ran.map_err(|error| format!("{row}: {error}"))
        }));
    }
    if let Some((_, run)) = profilers().find(|(name, _)| *name == row) {
        return Ok(clocked(run));
    }
    match rows_without_cuda::ROWS
        .iter()
        .find(|(name, _)| *name == row)
    {
        Some((_, function)) => Ok(clocked(|calls| loop_under_test::repeat(*function, calls))),
        None => Err(format!(
            "unknown row {row}; available: {}",
            names().join(", ")
        )),
    }
}

fn clocked(run: impl Fn(u64) + 'static) -> Runner {
    Box::new(move |calls| {
        let start = Instant::now();
        run(calls);
        Ok(start.elapsed())
    })
}

/// The names of all rows.
fn names() -> Vec<&'static str> {
    let mut names: Vec<_> = rows_without_cuda::ROWS
        .iter()
        .map(|(name, _)| *name)
        .collect();
    names.extend(profilers().map(|(name, _)| *name));
    names.extend(rows_with_launches::ROWS.iter().map(|row| row.name));
    names
}

/// The rows of other profilers, and those of layers for `tracing`.
fn profilers() -> impl Iterator<Item = &'static (&'static str, other_profilers::Loop)> {
    other_profilers::LOOPS.iter().chain(tracing_layers::LOOPS)
}
