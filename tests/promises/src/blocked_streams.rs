//! Work that is queued while another kernel blocks its streams, so that a slow host leaves no gaps
//! in it.

use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::{CudaStream, DriverError};
use gpuprof::{Profile, Sampling, Session};

use crate::world::{Done, World, failed_in};

/// Duration of the blocking kernel at the first try; each further try doubles it.
const FIRST_BLOCK: Duration = Duration::from_millis(50);
/// The number of tries. On a host too slow for the longest of them nothing can be measured.
const TRIES: u32 = 6;

/// Measures the work that `queue` puts onto `streams` while all of them are blocked for the time it
/// is given in ns. Streams of one context begin together. `queue` is called again in a new session
/// if the host was too slow.
///
/// # Errors
/// A driver error as text, or the host is too slow.
pub fn measured<W: World + ?Sized>(
    streams: &[(&W, &Arc<CudaStream>)],
    mut queue: impl FnMut(u64) -> Done,
) -> Result<Profile, String> {
    for doubled in 0..TRIES {
        let hold = FIRST_BLOCK.as_nanos() as u64 * (1 << doubled);
        let session = Session::builder().sampling(Sampling::EveryCall).start();
        let session = session.map_err(failed_in("a session"))?;
        let early = queue_behind_kernel(streams, hold, &mut queue)
            .map_err(failed_in("work behind a kernel"))?;
        let profile = session.finish();
        if early {
            streams.iter().for_each(|(world, _)| world.accept(&profile));
            return Ok(profile);
        }
    }
    Err("this machine is too slow to queue work behind a kernel of a second".into())
}

/// Whether everything was queued while the streams were blocked. The work has finished on return.
fn queue_behind_kernel<W: World + ?Sized>(
    streams: &[(&W, &Arc<CudaStream>)],
    hold: u64,
    queue: &mut impl FnMut(u64) -> Done,
) -> Result<bool, DriverError> {
    let mut holds = Vec::new();
    for &(world, stream) in streams {
        world.spin(stream, hold)?;
        holds.push(stream.record_event(None)?);
    }
    for &(world, stream) in streams {
        for blocker in &holds {
            if blocker.context().cu_ctx() == world.context().cu_ctx() {
                stream.wait(blocker)?;
            }
        }
    }
    queue(hold)?;
    let mut early = true;
    for blocker in &holds {
        early &= !blocker.try_is_complete()?;
    }
    for (world, _) in streams {
        world.context().synchronize()?;
    }
    Ok(early)
}
