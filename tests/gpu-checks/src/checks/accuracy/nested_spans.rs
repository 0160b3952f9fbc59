//! A caller's span compared with its nested spans on the same stream.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use gpuprof::gpu_profile;

use super::{RESOLUTION_NS, gpu_times, marked, text};
use crate::check::{Row, RunMode};
use crate::hand_timed::{self, Answer, Kernel};
use crate::session::every_call;
use crate::statistics::{Spread, figure, time};

/// Launches per run.
const PARTS: usize = 100;
const WHOLE: &str = "a run";
const PART: &str = "one of a run";
const BARE: &str = "a run without spans inside";

#[gpu_profile(name = "a run")]
fn whole(stream: &Arc<CudaStream>, kernel: &Kernel) -> Answer {
    (0..PARTS).try_for_each(|_| part(stream, kernel))
}

#[gpu_profile(name = "one of a run")]
fn part(stream: &Arc<CudaStream>, kernel: &Kernel) -> Answer {
    kernel.launch(stream)
}

#[gpu_profile(name = "a run without spans inside")]
fn bare(stream: &Arc<CudaStream>, kernel: &Kernel) -> Answer {
    (0..PARTS).try_for_each(|_| kernel.launch(stream))
}

pub(super) fn parts_and_whole(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let stream = hand_timed::stream().map_err(text)?;
    let kernel = Kernel::spin(20_000).map_err(text)?;
    let session = every_call().start().map_err(text)?;
    let (mut rest, mut beside_bare, mut unequal) = (Vec::new(), Vec::new(), 0);
    let runs = if run_mode.short { 2 } else { 50 };
    let (margin_ns, mut overhead_ns) = (PARTS as f64 * RESOLUTION_NS, 0);
    for _ in 0..=runs {
        gpuprof::reset();
        whole(&stream, &kernel).map_err(text)?;
        stream.synchronize().map_err(text)?;
        bare(&stream, &kernel).map_err(text)?;
        stream.synchronize().map_err(text)?;
        let profile = gpuprof::collect();
        let (whole, parts) = (gpu_times(&profile, WHOLE)?, gpu_times(&profile, PART)?);
        let bare_ns = gpu_times(&profile, BARE)?.times.total_ns;
        if parts.timed_calls != PARTS as u64 {
            return Err(format!("{} of {PARTS} launches timed", parts.timed_calls));
        }
        let [whole_ns, parts_ns] = [whole, parts].map(|gpu| gpu.times.total_ns);
        // The span around has no event of the parts.
        overhead_ns = PARTS as u64 * profile.diagnostics.event_overhead_ns.unwrap_or(0);
        let self_ns = (whole_ns + overhead_ns).saturating_sub(parts_ns);
        unequal += u32::from(whole.times.self_ns.abs_diff(self_ns) > margin_ns as u64);
        rest.push(whole_ns as f64 - parts_ns as f64);
        beside_bare.push(whole_ns as f64 / bare_ns as f64);
    }
    // The first run loads the kernel and creates the events.
    let rest = Spread::of(&rest[1..]);
    let _ = session.finish();
    let margin_ns = margin_ns + overhead_ns as f64;
    let beside_bare = Spread::of(&beside_bare[1..]);
    Ok(vec![
        Row::judged(
            format!("span of {PARTS} launches minus the sum of theirs, minimum of {runs} runs"),
            marked(run_mode, time(rest.least)),
            format!(
                "at least -{}: the events' resolution and overhead for each launch",
                time(margin_ns)
            ),
            rest.least >= -margin_ns,
        ),
        figure(run_mode, "the same, all runs", rest.time()),
        Row::judged(
            "runs whose self time is not that difference, but for the parts' event overhead",
            unequal.to_string(),
            "0",
            unequal == 0,
        ),
        figure(
            run_mode,
            "span around timed launches, for each of a span around launches alone",
            beside_bare.ratio(),
        ),
    ])
}
