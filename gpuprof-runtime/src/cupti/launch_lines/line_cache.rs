//! The lines of the stacks that were looked up: each stack once in a process.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::lookup::{self, FunctionsByAddress, LookUps};
use super::stack_totals::StackTotals;
use crate::cupti::collect::stack_table::{STACKS, StackId};
use gpuprof_report::profile::{LaunchLine, NOT_LOOKED_UP, OTHER_STACKS, add_lines};

/// What the look-ups of one report may take: a program may have much debug information, and waits
/// for its report.
pub(super) const LIMIT: Duration = Duration::from_secs(5);

#[derive(Default)]
pub(crate) struct LineCache(Mutex<LinesByStack>);

#[derive(Default)]
struct LinesByStack {
    known: FxHashMap<StackId, Arc<LaunchLine>>,
    functions: FunctionsByAddress,
    /// Of the report that is made, from its first stack on.
    look_ups: Option<LookUps>,
}

impl LineCache {
    /// The lines of one row, those with the most GPU time first. Several stacks may have one line.
    pub(crate) fn lines_of_row(&self, stacks: &StackTotals) -> Vec<LaunchLine> {
        let mut lines = Vec::new();
        for (stack, totals) in stacks.iter() {
            let mut of_stack = LaunchLine::clone(&self.line(stack));
            (of_stack.calls, of_stack.total_ns) = (totals.activities, totals.total_ns);
            add_lines(&mut lines, &[of_stack]);
        }
        lines
    }

    /// The line of a recorded stack; `None` if none was recorded.
    pub(crate) fn recorded_line(&self, stack: u16) -> Option<String> {
        let stack = StackId::from_number(stack)?;
        Some(self.line(stack).to_string())
    }

    /// The line of a stack, without counts.
    fn line(&self, stack: StackId) -> Arc<LaunchLine> {
        let missing = || Arc::new(named(NOT_LOOKED_UP));
        // Another report takes at most the limit, and one look-up that had begun.
        let Some(mut lines) = self.0.try_lock_for(2 * LIMIT) else {
            return missing();
        };
        let LinesByStack {
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
    pub(crate) fn end_report(&self) {
        let Some(mut lines) = self.0.try_lock_for(2 * LIMIT) else {
            return;
        };
        if lines.look_ups.take().is_some() {
            lookup::release_debug_information();
        }
    }
}

fn named(function: &str) -> LaunchLine {
    let mut line = LaunchLine::default();
    function.clone_into(&mut line.function);
    line
}
