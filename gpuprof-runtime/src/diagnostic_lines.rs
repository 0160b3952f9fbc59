//! What gpuprof says about itself: on standard error, or to the program's callback.
//!
//! A line may come up under a lock of gpuprof's, inside a CUDA call or at exit. The callback is the
//! program's code and may call gpuprof, so it runs on a thread of its own, which holds no lock.

use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{io, mem, panic};

use parking_lot::{Condvar, Mutex};

use crate::os::{fd, fork, own_work, thread_signals};
use gpuprof_report::diagnostic::{Diagnostic, Severity};

/// Distinct lines of a process that a callback receives: a note with a count is another line
/// whenever the count has changed.
const MAX_LINES: usize = 64;

/// The lines so far, and who receives them. Its lock is held for a copy of a line, and no other one
/// is taken under it.
#[derive(Debug, Default)]
pub(crate) struct DiagnosticLines {
    state: Mutex<State>,
    /// There is another line, or one was passed on.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Distinct texts, the oldest first.
    lines: Vec<Diagnostic>,
    has_callback: bool,
    /// Lines for which the callback has returned.
    passed: usize,
}

impl State {
    /// Adds a line unless it is known. Returns whether a callback receives it, or has received it.
    fn add(&mut self, severity: Severity, text: &str) -> bool {
        let is_known = self.lines.iter().any(|line| line.text == text);
        let is_added = !is_known && self.lines.len() < MAX_LINES;
        if is_added {
            self.lines.push(Diagnostic::new(severity, text));
        }
        self.has_callback && (is_known || is_added)
    }
}

impl DiagnosticLines {
    pub(crate) fn error(&self, text: &str) {
        self.say(Severity::Error, text);
    }

    pub(crate) fn warning(&self, text: &str) {
        self.say(Severity::Warning, text);
    }

    /// Passes a line to the callback, or prints it if there is none.
    pub(crate) fn say(&self, severity: Severity, text: &str) {
        if !self.add(severity, text) {
            fd::stderr(format!("gpuprof: {text}\n").as_bytes());
        }
    }

    /// Passes the notes of a profile to the callback. Without one, reports have them.
    pub(crate) fn add_notes(&self, notes: &[String]) {
        for note in notes {
            self.add(Severity::Note, note);
        }
    }

    fn add(&self, severity: Severity, text: &str) -> bool {
        // There, a thread that does not exist may hold the lock.
        if fork::is_child() {
            return false;
        }
        let is_received = self.state.lock().add(severity, text);
        self.changed.notify_all();
        is_received
    }

    /// Has `callback` receive the lines so far and all others. Returns false if there is one
    /// already.
    ///
    /// # Errors
    /// The system's, if it has no thread left.
    pub(crate) fn set_callback(
        self: &Arc<Self>,
        callback: impl Fn(&Diagnostic) + Send + 'static,
    ) -> io::Result<bool> {
        if mem::replace(&mut self.state.lock().has_callback, true) {
            return Ok(false);
        }
        let lines = Arc::clone(self);
        let run = move || lines.pass_on(&callback);
        // Without a lock: if it fails, the callback is dropped, which is the program's code.
        let thread = thread_signals::spawn("gpuprof-lines", run);
        self.state.lock().has_callback = thread.is_ok();
        thread.map(|_| true)
    }

    /// Calls `callback` for each line, for ever.
    fn pass_on(&self, callback: &dyn Fn(&Diagnostic)) {
        loop {
            let line = self.next();
            let call = || own_work::run_programs(|| callback(&line));
            // Its hook has shown the panic. To drop what it carries may panic again.
            if let Err(carried) = panic::catch_unwind(panic::AssertUnwindSafe(call)) {
                mem::forget(carried);
            }
            self.state.lock().passed += 1;
            self.changed.notify_all();
        }
    }

    /// Waits for a line that was not passed on.
    fn next(&self) -> Diagnostic {
        let mut state = self.state.lock();
        loop {
            match state.lines.get(state.passed) {
                Some(line) => return line.clone(),
                None => self.changed.wait(&mut state),
            }
        }
    }

    /// Waits until the callback has returned for all lines so far, at most `limit`: as long if the
    /// callback itself ends the process.
    pub(crate) fn wait(&self, limit: Duration) {
        let deadline = Instant::now() + limit;
        let Some(mut state) = self.state.try_lock_until(deadline) else {
            return;
        };
        while state.has_callback && state.passed < state.lines.len() {
            if self.changed.wait_until(&mut state, deadline).timed_out() {
                return;
            }
        }
    }
}
