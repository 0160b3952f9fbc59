//! Measuring windows: the one the environment asks for, and a program's own.

use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use regex_lite::Regex;

use super::callback::{self, deliver};
use super::{exit, process};
use crate::collector::collector;
use crate::cupti;
use crate::nvml;
use crate::os::fd;
use crate::settings::{self, Mode, Output, Sampling, Settings};
use crate::site::{GATE_SHUT, GATE_UNKNOWN, Site};
use crate::span::overhead;
use gpuprof_report::findings;
use gpuprof_report::profile::{Profile, SCHEMA};
use gpuprof_report::schedule::Schedule;
use gpuprof_report::settings::{SessionError, Sort};

/// How long anything but the exit handler waits for a lock: these are held for microseconds.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long reading what CUPTI has ready may take at least, whatever is left of the wait for the GPU: it waits for none.
const READING: Duration = Duration::from_millis(500);

/// What outlives single windows.
struct Windows {
    /// A session is open.
    session: bool,
    /// What the environment's window had measured when the first session began, to be reported at exit.
    kept: Option<(Arc<Settings>, Profile)>,
}

static WINDOWS: Mutex<Windows> = Mutex::new(Windows {
    session: false,
    kept: None,
});

impl Site {
    /// Whether a call of this site is to be measured now.
    #[inline]
    pub fn active(&'static self) -> bool {
        match self.gate.load(std::sync::atomic::Ordering::Acquire) {
            GATE_UNKNOWN => decide(self),
            gate => gate != GATE_SHUT,
        }
    }
}

#[cold]
fn decide(site: &'static Site) -> bool {
    start_from_environment();
    collector().decide(site)
}

/// Opens the window that the environment describes, unless something was opened before.
pub(crate) fn start_from_environment() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if !collector().is_untouched() {
            return;
        }
        let (settings, problems) = settings::from_env(std::env::vars_os());
        for problem in problems {
            fd::stderr(format!("gpuprof: {problem}\n").as_bytes());
        }
        let settings = Arc::new(settings);
        start(Arc::clone(&settings));
        exit::register();
        exit::follow(&settings);
    });
}

fn start(settings: Arc<Settings>) {
    if settings.mode == Mode::On {
        overhead::calibrate();
        if settings.cupti {
            cupti::start(&collector().work, poll_clocks);
        }
    }
    collector().start(settings);
}

/// What is measured up to now, without waiting: GPU times that are not read yet are counted as unfinished.
#[must_use]
pub fn snapshot() -> Profile {
    start_from_environment();
    profile(PATIENCE).unwrap_or_else(empty)
}

/// What is measured up to now, after waiting for the GPU times of the calls that have ended.
///
/// Waits at most `GPUPROF_EXIT_WAIT`; what the GPU has not finished by then is counted as unfinished. It waits for the
/// events of gpuprof alone and synchronizes nothing.
#[must_use]
pub fn collect() -> Profile {
    start_from_environment();
    let limit = collector()
        .settings(PATIENCE)
        .map_or(Duration::ZERO, |settings| settings.exit_wait);
    wait(limit);
    profile(PATIENCE).unwrap_or_else(empty)
}

/// Waits for the GPU times of the calls that have ended, at most `limit`, and reads what CUPTI has of them.
fn wait(limit: Duration) {
    let began = Instant::now();
    collector().wait(limit);
    let _ = cupti::drain(time_to_read(limit, began));
}

fn time_to_read(limit: Duration, began: Instant) -> Duration {
    limit.saturating_sub(began.elapsed()).max(READING)
}

/// Counts from zero again. A call that is running now counts when it ends; none is lost and none counts twice.
pub fn reset() {
    start_from_environment();
    collector().reset();
}

/// Ends one step of the program, such as a training step or a batch, and begins the next.
///
/// Under a [`Schedule`], from `GPUPROF_SCHEDULE` or [`SessionBuilder::schedule`], steps decide what is measured; without
/// one this does nothing. It never waits for the GPU.
pub fn step() {
    start_from_environment();
    if let Some(profile) = collector().step() {
        deliver(profile);
    }
}

fn empty() -> Profile {
    Profile {
        schema: SCHEMA.to_owned(),
        ..Profile::default()
    }
}

/// On the thread that reads CUPTI's records.
fn poll_clocks() {
    nvml::poll(&collector().gpu.devices(Duration::ZERO));
}

/// The current window's profile, complete. `None`: a lock was not to be had in time.
pub(crate) fn profile(limit: Duration) -> Option<Profile> {
    let mut profile = collector().profile(limit)?;
    complete(&mut profile);
    Some(profile)
}

/// Adds what counters do not tell.
pub(super) fn complete(profile: &mut Profile) {
    process::fill(profile);
    // They name the program.
    profile.commands = findings::commands(profile, cfg!(feature = "nvtx"));
    let calls = profile.diagnostics.calls;
    let all = calls + profile.diagnostics.replays;
    profile.diagnostics.overhead_ns += overhead::cpu_cost_ns(calls);
    profile.diagnostics.overhead_ns_per_call =
        (profile.diagnostics.overhead_ns + all / 2).checked_div(all);
}

/// What is to be reported when the process ends, in order: settings and profile of each window.
pub(crate) fn at_exit(limit: Duration) -> Vec<(Arc<Settings>, Profile)> {
    let windows = WINDOWS.try_lock_for(limit);
    let mut is_lost = windows.is_none();
    let kept = windows.and_then(|mut windows| windows.kept.take());
    let settings = collector().settings(limit);
    is_lost |= settings.is_none() && collector().is_held();
    let (began, exit_wait) = (Instant::now(), settings.as_ref().map(|s| s.exit_wait));
    if let Some(exit_wait) = exit_wait {
        collector().wait(exit_wait);
    }
    // Also where no window is open: the reader must not meet a driver or a CUPTI that is shutting down.
    cupti::drain_last(time_to_read(exit_wait.unwrap_or_default(), began));
    let open = settings.and_then(|settings| {
        if let Some(cycle) = collector().close_cycle(limit) {
            // It runs when the program's own state may be gone; a panic in it must not cost the report.
            let _ = panic::catch_unwind(AssertUnwindSafe(|| deliver(cycle)));
            callback::wait(settings.exit_wait);
        }
        let profile = profile(limit);
        is_lost |= profile.is_none();
        Some((settings, profile?))
    });
    if is_lost {
        let line =
            format!("gpuprof: no report: another thread held for {limit:?} what it is made from\n");
        fd::stderr(line.as_bytes());
    }
    kept.into_iter().chain(open).collect()
}

/// What the environment's window has measured up to now, or had when the first session began. `None`: a lock was not to be
/// had in time.
pub(crate) fn of_environment(limit: Duration) -> Option<(Arc<Settings>, Profile)> {
    // Held while the profile is made, so that it is not that of a session which begins meanwhile.
    let windows = WINDOWS.try_lock_for(limit)?;
    if let Some(kept) = &windows.kept {
        return Some(kept.clone());
    }
    Some((collector().settings(limit)?, profile(limit)?))
}

/// How long the end of the process waits for queued GPU work.
pub(crate) fn exit_wait(limit: Duration) -> Duration {
    let settings = collector().settings(limit);
    settings.map_or(Duration::ZERO, |settings| settings.exit_wait)
}

/// A measuring window with settings of its own, for programs that do not want the environment's.
///
/// It counts from zero, alone: while it is open nothing else is measured. After [`finish`](Self::finish) annotated
/// functions cost next to nothing until the next session. One that is still open when the process ends is reported
/// then. What the environment's window had measured before the first session is reported at exit as well.
///
/// ```
/// # use gpuprof_runtime as gpuprof;
/// # fn work() {}
/// let session = gpuprof::Session::builder().filter("^conv").sample(10).start()?;
/// work();
/// let profile = session.finish();
/// for function in &profile.functions {
///     println!("{}: {} calls, {} ns", function.name, function.calls, function.cpu.total_ns);
/// }
/// # Ok::<(), gpuprof::SessionError>(())
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
        if let Some(cycle) = collector().close_cycle(PATIENCE) {
            deliver(cycle);
        }
        self.end();
        profile
    }

    fn end(&mut self) {
        if !std::mem::replace(&mut self.finished, true) {
            collector().stop();
            WINDOWS.lock().session = false;
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

    /// GPU-times 1 call in `n`, at random; counts stay exact. 0 counts as 1, which is the default without [`cupti`](Self::cupti).
    pub fn sample(mut self, n: u32) -> Self {
        self.settings.sample = Some(Sampling::OneIn(n.max(1)));
        self
    }

    /// GPU-times the first 256 calls of each function, and of a function that is called more often so many, at random, that events
    /// take the GPU about a two-thousandth of its time, always of those whose enclosing call is timed; the default with [`cupti`](Self::cupti).
    pub fn sample_auto(mut self) -> Self {
        self.settings.sample = Some(Sampling::Auto);
        self
    }

    /// The longest that [`Session::finish`] waits for queued GPU work; default 2 s.
    pub fn exit_wait(mut self, limit: Duration) -> Self {
        self.settings.exit_wait = limit;
        self
    }

    /// Measures only the active steps of this schedule; see [`step`].
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.settings.schedule = Some(schedule);
        self
    }

    /// Records kernels, copies and CUDA calls through CUPTI, as `GPUPROF_CUPTI=on` does. It starts with the first session that asks
    /// for it and then runs for the rest of the process. If it is unavailable, a note in the profile's trust says why.
    pub fn cupti(mut self, on: bool) -> Self {
        self.settings.cupti = on;
        self
    }

    /// The order of rows in what is written if the process ends while the session is open.
    pub fn sort(mut self, sort: Sort) -> Self {
        self.settings.sort = sort;
        self
    }

    /// How many rows that shows, 0 for all; default 30.
    pub fn limit(mut self, rows: usize) -> Self {
        self.settings.limit = rows;
        self
    }

    /// What is written if the process ends while the session is open; default the table.
    pub fn outputs(mut self, outputs: impl IntoIterator<Item = Output>) -> Self {
        self.settings.outputs = outputs.into_iter().collect();
        self
    }

    /// Begins to measure. If something was measured before, by the environment's settings, this first waits for the GPU
    /// times of that, at most `GPUPROF_EXIT_WAIT`.
    ///
    /// # Errors
    /// [`SessionError::Open`] while another session is open, [`SessionError::Filter`] for a pattern that is no regular
    /// expression.
    pub fn start(mut self) -> Result<Session, SessionError> {
        if let Some(pattern) = &self.filter {
            let filter =
                Regex::new(pattern).map_err(|error| SessionError::Filter(error.to_string()))?;
            self.settings.filter = Some(filter);
        }
        // Whoever comes first opens that window; it must not happen beside what follows.
        start_from_environment();
        if let Some(settings) = collector()
            .settings(PATIENCE)
            .filter(|_| !WINDOWS.lock().session)
        {
            wait(settings.exit_wait);
        }
        let mut windows = WINDOWS.lock();
        if windows.session {
            return Err(SessionError::Open);
        }
        if let Some(settings) = collector().settings(PATIENCE) {
            windows.kept = profile(PATIENCE).map(|profile| (settings, profile));
        }
        windows.session = true;
        start(Arc::new(self.settings));
        exit::register();
        Ok(Session { finished: false })
    }
}
