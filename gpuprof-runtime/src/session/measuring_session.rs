//! `Session` and its builder: a measuring window that the program opens itself.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use regex_lite::Regex;

use super::api::{self, collect, snapshot};
use super::open_windows;
use crate::os::fork;
use crate::os::own_work::OwnWork;
use crate::settings::{Counters, CuptiMode, Mode, Output, Sampling, Settings};
use gpuprof_report::profile::Profile;
use gpuprof_report::setting_values::SessionError;

/// A measuring window with its own settings, for programs that do not use the environment's.
///
/// It counts from zero, and nothing else is measured while it is open. After
/// [`finish`](Self::finish), annotated functions cost next to nothing until the next session
/// begins. Dropping a session without `finish` stops measuring too: it does not wait for the
/// GPU, and nothing is reported. A session still open at process exit is reported then. Data
/// measured under the environment settings before the first session is reported too.
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
    /// Returns a builder with default settings; environment variables are ignored.
    pub fn builder() -> SessionBuilder {
        SessionBuilder {
            settings: Settings::default(),
            filter: None,
        }
    }

    /// What this session has measured so far; see [`snapshot`].
    #[must_use]
    pub fn snapshot(&self) -> Profile {
        snapshot()
    }

    /// Ends the session: waits for pending GPU work like [`collect`] and returns what was measured.
    #[must_use]
    pub fn finish(mut self) -> Profile {
        let _own = OwnWork::begin();
        let profile = collect();
        self.end();
        profile
    }

    fn end(&mut self) {
        let _own = OwnWork::begin();
        if !std::mem::replace(&mut self.finished, true) && !fork::is_child() {
            open_windows::end_session();
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.end();
    }
}

/// The settings of a [`Session`] before it starts.
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

    /// Measures only functions whose reported name matches this regular expression.
    pub fn filter(mut self, pattern: impl Into<String>) -> Self {
        self.filter = Some(pattern.into());
        self
    }

    /// Which calls are timed on the GPU; counts stay exact. Default [`Sampling::AUTO`], or
    /// [`Sampling::EveryCall`] if an output is a time line.
    pub fn sampling(mut self, sampling: Sampling) -> Self {
        self.settings.sampling = Some(sampling);
        self
    }

    /// The number of events that the time line of an output `trace` keeps, the newest; default
    /// 1,000,000. An event takes 16 to 40 bytes.
    pub fn trace_limit(mut self, events: NonZeroUsize) -> Self {
        self.settings.trace_limit = events.get();
        self
    }

    /// The longest that [`Session::finish`] waits for queued GPU work; default 2 s.
    pub fn exit_wait(mut self, limit: Duration) -> Self {
        self.settings.exit_wait = limit;
        self
    }

    /// What is recorded through CUPTI; default [`CuptiMode::Off`], or [`CuptiMode::On`] if
    /// counters, stacks or stalls are asked for. CUPTI starts with the first session that asks for
    /// it and then runs for the rest of the process. If it is unavailable, a note in the profile's
    /// diagnostics says why.
    pub fn cupti(mut self, mode: CuptiMode) -> Self {
        self.settings.cupti = Some(mode);
        self
    }

    /// Which hardware counters of the GPU are sampled, which switches [`cupti`](Self::cupti) on:
    /// `true` for gpuprof's choice, or a list such as `"lts__t_sectors.sum".parse()?`; default
    /// none. Sampling starts with the first session that asks for it, with the list of that
    /// session, and then runs for the rest of the process. If it is unavailable, or a metric is
    /// not sampled, a note in the profile's diagnostics says why.
    pub fn counters(mut self, counters: impl Into<Counters>) -> Self {
        self.settings.counters = counters.into();
        self
    }

    /// Whether the profile says from which source lines kernels are launched, which switches
    /// [`cupti`](Self::cupti) on; default no. It needs gpuprof's feature `cupti`, and lines need a
    /// program with debug information.
    pub fn stacks(mut self, stacks: bool) -> Self {
        self.settings.stacks = stacks;
        self
    }

    /// Whether the profile says for what the warps of each kernel wait and where, which switches
    /// [`cupti`](Self::cupti) on; default no. Sampling starts with the first session that asks for
    /// it and then runs for the rest of the process. Source lines need gpuprof's feature `cupti`,
    /// kernels with line information, and modules that are loaded after that. If it is unavailable,
    /// a note in the profile's diagnostics says why.
    pub fn stalls(mut self, stalls: bool) -> Self {
        self.settings.stalls = stalls;
        self
    }

    /// Whether the profile says which functions allocate and free device and pinned memory, the
    /// most that was live at once, and what is live; default false. It switches
    /// [`cupti`](Self::cupti) on, unless that is stated. CUPTI's memory records begin with the
    /// first session that asks for them and go on for the rest of the process, because memory
    /// outlives a session.
    pub fn memory(mut self, on: bool) -> Self {
        self.settings.memory = on;
        self
    }

    /// The outputs of the report that is written if the process ends during the session; default
    /// the table.
    pub fn outputs(mut self, outputs: impl IntoIterator<Item = Output>) -> Self {
        self.settings.outputs = outputs.into_iter().collect();
        self
    }

    /// Starts measuring. If the environment's window was open, this first waits for its GPU times,
    /// at most `GPUPROF_EXIT_WAIT`.
    ///
    /// # Errors
    /// [`SessionError::Open`] if another session is open, [`SessionError::Filter`] if the filter is
    /// not a regular expression.
    pub fn start(mut self) -> Result<Session, SessionError> {
        let _own = OwnWork::begin();
        if let Some(pattern) = &self.filter {
            let filter = Regex::new(pattern).map_err(|error| SessionError::Filter(error.into()))?;
            self.settings.filter = Some(filter);
        }
        // Start the environment's window first, so that it cannot start during this session.
        api::start_from_environment();
        if fork::is_child() {
            return Ok(Session { finished: true });
        }
        let settings = Arc::new(self.settings);
        open_windows::begin_session(|| api::start(settings)).map_err(|_| SessionError::Open)?;
        Ok(Session { finished: false })
    }
}
