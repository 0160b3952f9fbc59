//! Finds the code that runs a row on one thread.

use std::time::{Duration, Instant};

use crate::{loop_under_test, other_profilers, rows_with_launches, rows_without_cuda};

/// Makes this many calls and returns their time.
pub(crate) type Runner = Box<dyn FnMut(u64) -> Result<Duration, String>>;

/// The runner of `row` on the calling thread. GPU rows open a device, or the simulated one.
///
/// # Errors
/// The row is unknown, or its device cannot be used.
pub(crate) fn runner(row: &str) -> Result<Runner, String> {
    let failed = |error: cudarc::driver::DriverError| format!("{row}: {error}");
    if let Some((_, call)) = rows_with_launches::ROWS
        .iter()
        .find(|(name, _)| *name == row)
    {
        simcuda::real_or_simulated();
        let stream = rows_with_launches::LaunchStream::new().map_err(failed)?;
        let row = row.to_owned();
        return Ok(Box::new(move |calls| {
            stream
                .run(*call, calls)
                .map_err(|error| format!("{row}: {error}"))
        }));
    }
    if let Some((_, run)) = other_profilers::LOOPS.iter().find(|(name, _)| *name == row) {
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
    names.extend(other_profilers::LOOPS.iter().map(|(name, _)| *name));
    names.extend(rows_with_launches::ROWS.iter().map(|(name, _)| *name));
    names
}
