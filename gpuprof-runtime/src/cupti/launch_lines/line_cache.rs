//! The lines of the stacks that were looked up: each stack once in a process.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::lookup;
use crate::cupti::collect::stack_table::{STACKS, StackId};
use gpuprof_report::profile::{LaunchLine, OTHER_STACKS, UNKNOWN_FUNCTION};

/// The debug information of a large program takes seconds to read.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// The lines of stacks that were looked up.
static LINES: Mutex<FxHashMap<StackId, Arc<LaunchLine>>> =
    Mutex::new(FxHashMap::with_hasher(FxBuildHasher));

/// The line of a stack, without counts.
pub(crate) fn line(stack: StackId) -> Arc<LaunchLine> {
    let Some(mut known) = LINES.try_lock_for(LOCK_TIMEOUT) else {
        return Arc::new(named(UNKNOWN_FUNCTION));
    };
    let line = known.entry(stack).or_insert_with(|| {
        let line = match STACKS.frames(stack) {
            Some(frames) => lookup::launch_line(&frames).unwrap_or_else(|| named(UNKNOWN_FUNCTION)),
            None => named(OTHER_STACKS),
        };
        Arc::new(line)
    });
    Arc::clone(line)
}

fn named(function: &str) -> LaunchLine {
    let mut line = LaunchLine::default();
    function.clone_into(&mut line.function);
    line
}
