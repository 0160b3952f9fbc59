//! The lines of the stacks that were looked up: each stack once in a process.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::lookup::{self, Functions, LookUps};
use crate::cupti::collect::stack_table::{STACKS, StackId};
use gpuprof_report::profile::{LaunchLine, NOT_LOOKED_UP, OTHER_STACKS};

/// What the look-ups of one report may take: a program may have much debug information, and waits
/// for its report.
pub(super) const LIMIT: Duration = Duration::from_secs(5);

static LINES: Mutex<Lines> = Mutex::new(Lines {
    known: FxHashMap::with_hasher(FxBuildHasher),
    functions: Functions::new(),
    look_ups: None,
});

/// The lines of stacks that were looked up.
struct Lines {
    known: FxHashMap<StackId, Arc<LaunchLine>>,
    functions: Functions,
    /// Of the report that is made, from its first stack on.
    look_ups: Option<LookUps>,
}

/// The line of a stack, without counts.
pub(crate) fn line(stack: StackId) -> Arc<LaunchLine> {
    let missing = || Arc::new(named(NOT_LOOKED_UP));
    // Another report takes at most the limit, and one look-up that had begun.
    let Some(mut lines) = LINES.try_lock_for(2 * LIMIT) else {
        return missing();
    };
    let Lines {
        known,
        functions,
        look_ups,
    } = &mut *lines;
    if let Some(line) = known.get(&stack) {
        return Arc::clone(line);
    }
    let line = match STACKS.frames(stack) {
        Some(frames) => {
            let look_ups = look_ups.get_or_insert_with(|| LookUps::new(LIMIT));
            functions.launch_line(&frames, look_ups)
        }
        None => Some(named(OTHER_STACKS)),
    };
    // Without time for it, the next report looks it up.
    let Some(line) = line.map(Arc::new) else {
        return missing();
    };
    known.insert(stack, Arc::clone(&line));
    line
}

/// The lines of a report are complete: the next one has time of its own. Releases the debug
/// information.
pub(crate) fn end_report() {
    let Some(mut lines) = LINES.try_lock_for(2 * LIMIT) else {
        return;
    };
    if lines.look_ups.take().is_some() {
        lookup::release_debug_information();
    }
}

fn named(function: &str) -> LaunchLine {
    let mut line = LaunchLine::default();
    function.clone_into(&mut line.function);
    line
}
