//! `Session` and its builder: a measuring window that the program opens itself.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use regex_lite::Regex;

use super::callback::deliver;
use super::control::{self, collect, snapshot};
use super::profile::LOCK_LIMIT;
use super::windows;
use crate::collector::collector;
use crate::settings::{Mode, Output, Sampling, Settings};
use gpuprof_report::profile::Profile;
use gpuprof_report::schedule::Schedule;
use gpuprof_report::settings::{SessionError, Sort};

/// A measuring window with settings of its own, for programs that do not want the environment's.
///
/// It counts from zero, alone: while it is open nothing else is measured. After
/// [`finish`](Self::finish) annotated functions cost next to nothing until the next session. One
/// that is still open when the process ends is reported then. What the environment's window had
/// measured before the first session is reported at exit as well.
///
/// ```
/// # use gpuprof_runtime as gpuprof;
/// # fn work() {}
/// let sampling = gpuprof::Sampling::OneIn(10.try_into()?);
/// let session = gpuprof::Session::builder().filter("^conv").sampling(sampling).start()?;
/// work();
/// let profile = session.finish();
/// for function in &profile.functions {
///     println!("{}: {} calls, {} ns", function.name, function.calls, function.cpu.total_ns);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "a session ends when it is dropped"]
pub struct Session {
    finished: bool,
}

impl Session {
    /// A session's settings, to begin with the defaults; the environment has no say in them.
    pub fn builder() -> SessionBuilder {
        SessionBuilder {
            settings: Settings::default(),
            filter: None,
        }
    }

    /// What this session has measured up to now; see [`snapshot`].
    #[must_use]
    pub fn snapshot(&self) -> Profile {
        snapshot()
    }

    /// Ends the session: waits for pending GPU work like [`collect`] and returns what was measured.
    #[must_use]
    pub fn finish(mut self) -> Profile {
        let profile = collect();
        if let Some(cycle) = collector().close_cycle(LOCK_LIMIT) {
            deliver(cycle);
        }
        self.end();
        profile
    }

    fn end(&mut self) {
        if !std::mem::replace(&mut self.finished, true) {
            windows::end_session();
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.end();
    }
}

/// Settings of a [`Session`] to be.
#[derive(Clone, Debug)]
#[must_use = "nothing is measured before `start`"]
pub struct SessionBuilder {
    settings: Settings,
    filter: Option<String>,
}

impl SessionBuilder {
    /// What spans do; default [`Mode::On`].
    pub fn mode(mut self, mode: Mode) -> Self {
        self.settings.mode = mode;
        self
    }

    /// Measures only functions whose shown name matches this regular expression.
    pub fn filter(mut self, pattern: impl Into<String>) -> Self {
        self.filter = Some(pattern.into());
        self
    }

    /// Which calls are timed on the GPU; counts stay exact. Default [`Sampling::EveryCall`], with
    /// [`cupti`](Self::cupti) [`Sampling::Auto`].
    pub fn sampling(mut self, sampling: Sampling) -> Self {
        self.settings.sampling = Some(sampling);
        self
    }

    /// The longest that [`Session::finish`] waits for queued GPU work; default 2 s.
    pub fn exit_wait(mut self, limit: Duration) -> Self {
        self.settings.exit_wait = limit;
        self
    }

    /// Measures only the active steps of this schedule; see [`step`](crate::step).
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.settings.schedule = Some(schedule);
        self
    }

    /// Records kernels, copies and CUDA calls through CUPTI, as `GPUPROF_CUPTI=on` does. It starts
    /// with the first session that asks for it and then runs for the rest of the process. Where it
    /// cannot be had, and without gpuprof's feature `cupti`, a note in the profile's trust says
    /// why.
    pub fn cupti(mut self, on: bool) -> Self {
        self.settings.cupti = on;
        self
    }

    /// The order of rows in what is written if the process ends while the session is open.
    pub fn sort(mut self, sort: Sort) -> Self {
        self.settings.sort = sort;
        self
    }

    /// The number of rows shown there, `None` for all; default 30.
    pub fn limit(mut self, rows: Option<NonZeroUsize>) -> Self {
        self.settings.limit = rows;
        self
    }

    /// What is written if the process ends while the session is open; default the table.
    pub fn outputs(mut self, outputs: impl IntoIterator<Item = Output>) -> Self {
        self.settings.outputs = outputs.into_iter().collect();
        self
    }

    /// Begins to measure. If something was measured before, by the environment's settings, this
    /// first waits for the GPU times of that, at most `GPUPROF_EXIT_WAIT`.
    ///
    /// # Errors
    /// [`SessionError::Open`] while another session is open, [`SessionError::Filter`] for a pattern
    /// that is no regular expression.
    pub fn start(mut self) -> Result<Session, SessionError> {
        if let Some(pattern) = &self.filter {
            let filter = Regex::new(pattern).map_err(|error| SessionError::Filter(error.into()))?;
            self.settings.filter = Some(filter);
        }
        // The environment's window must not open beside what follows.
        control::start_from_environment();
        let settings = Arc::new(self.settings);
        windows::begin_session(|| control::start(settings)).map_err(|_| SessionError::Open)?;
        Ok(Session { finished: false })
    }
}
