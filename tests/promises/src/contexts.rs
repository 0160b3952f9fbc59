//! Promise: spans are timed in any context, and leave the current context as it is.

use std::sync::Arc;
use std::thread;

use cudarc::driver::{CudaStream, result};
use gpuprof::{Sampling, Session, gpu_profile};

use crate::known_spans::{errors, function};
use crate::observation::{Observation, Observed};
use crate::world::{Done, World, failed_in};

#[gpu_profile(name = "around a context")]
fn around(_stream: &Arc<CudaStream>, inside: impl FnOnce() -> Done) -> Done {
    inside()
}

/// Spans of one context inside spans of another, with either or none current.
///
/// # Errors
/// A driver error as text.
pub fn the_current_one_stays(worlds: [&dyn World; 2], calls: u64) -> Observed {
    let failed = failed_in("two contexts");
    let (a, b) = (&worlds[0].stream()?, &worlds[1].stream()?);
    let session = Session::builder().sampling(Sampling::EveryCall).start();
    let session = session.map_err(failed_in("a session"))?;
    let nested = || around(a, || around(b, || Ok(())));
    let mut unchanged = 0;
    for world in worlds.iter().cycle().take(calls as usize) {
        let current = world.context();
        current.bind_to_thread().map_err(&failed)?;
        nested().map_err(&failed)?;
        let now = result::ctx::get_current().map_err(&failed)?;
        unchanged += u64::from(now == Some(current.cu_ctx()));
    }
    let none = thread::scope(|scope| {
        let fresh = scope.spawn(|| {
            nested()?;
            Ok(result::ctx::get_current()?.is_none())
        });
        fresh.join().expect("no panic")
    });
    let none = none.map_err(&failed)?;
    for world in worlds {
        world.context().synchronize().map_err(&failed)?;
    }
    let profile = session.finish();
    worlds.iter().for_each(|world| world.accept(&profile));
    let (ran, timed) = function(&profile, "around a context").map_or((0, 0), |found| {
        let timed = found.gpu.as_ref().map_or(0, |gpu| gpu.timed_calls);
        (found.calls, timed)
    });
    let wanted = 2 * (calls + 1);
    Ok(vec![
        Observation::new(
            "spans of one context inside spans of another",
            format!("{ran} calls, {timed} timed, {}", errors(&profile)),
            format!("{wanted} calls, {wanted} timed, no error"),
            (ran, timed) == (wanted, wanted) && profile.diagnostics.errors.is_empty(),
        ),
        Observation::new(
            "the current context after them",
            format!("unchanged in {unchanged} of {calls}; none where there was none: {none}"),
            format!("unchanged in {calls} of {calls}; none where there was none: true"),
            unchanged == calls && none,
        ),
    ])
}
