//! The one global: the sites that were called, the counters of all threads, GPU timing, CUPTI, and
//! the current measuring window.
//!
//! A span comes here only when it meets something for the first time.

mod build_trace;
mod collect_profile;
mod default_stream;
mod ended_windows;
mod first_context;
#[cfg(feature = "trace")]
mod lending;
mod live_rows;
mod looks;
mod measured_part;
mod memory_profile;
mod memory_tracks;
pub(crate) mod process_state;
mod step_clock;
mod threads;
mod trace_clocks;
mod trace_names;
mod window;
mod window_copy;
mod window_looks;
mod window_totals;

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;

use self::default_stream::DefaultStream;
pub(crate) use self::default_stream::has_default_stream;
use self::ended_windows::EndingWindow;
use self::first_context::FirstContext;
use self::measured_part::MeasuredPart;
use self::process_state::ProcessState;
use self::step_clock::StepClock;
use self::threads::Threads;
use self::window::{MeasuringWindow, WindowState};
use self::window_totals::HostTotals;
use crate::clock;
use crate::cupti;
use crate::diagnostic_lines::DiagnosticLines;
use crate::gpu::Timing;
use crate::nvml::PolledClocks;
use crate::os::{fork, own_work};
use crate::recorder::Recorder;
use crate::settings::{Mode, Settings};
use crate::site::all_sites::all_sites;
use crate::site::{Site, SiteFlags};
use crate::stats::host_totals::Totals;
use crate::stats::path_ids::CallPaths;
use crate::stats::thread_counters::ThreadCounters;
use crate::stats::window_epoch;

/// How long a thread that ends waits for the lock to return its counters. The lock is held for
/// microseconds.
const DETACH_TIMEOUT: Duration = Duration::from_secs(5);

static COLLECTOR: LazyLock<Collector> = LazyLock::new(Collector::new);

/// The collector of the process.
pub(crate) fn collector() -> &'static Collector {
    &COLLECTOR
}

/// Samples the hardware counters of a device that a span has met, if a session has asked for it.
fn add_device(ordinal: u32) {
    collector().cupti.pm_sampling.start_device(ordinal);
}

/// See the module.
pub(crate) struct Collector {
    sites: Mutex<Vec<&'static Site>>,
    pub(crate) paths: Mutex<CallPaths>,
    threads: Threads,
    window: Mutex<MeasuringWindow>,
    /// What of the open window is measured, in a lock of its own: a first call must not wait for a
    /// thread that copies counters under the window's lock.
    part: Mutex<MeasuredPart>,
    /// What the spans of the window's sites do now, as [`SiteFlags`].
    flags: AtomicU8,
    pub(crate) default_stream: DefaultStream,
    pub(crate) first_context: FirstContext,
    pub(crate) gpu: Timing,
    pub(crate) cupti: cupti::SharedAttribution,
    /// The source lines of launches that were looked up.
    lines: cupti::LineCache,
    /// Of the time line.
    pub(crate) recorder: Arc<Recorder>,
    /// What NVML has reported in the polls of this window.
    pub(crate) clocks: PolledClocks,
    /// What the layer for `tracing` says in each report, once there is one.
    pub(crate) layer_notes: OnceLock<fn() -> Vec<String>>,
    /// What gpuprof says about itself.
    pub(crate) diagnostics: Arc<DiagnosticLines>,
    pub(crate) process: ProcessState,
    /// Calls on threads that had already detached from their counters.
    pub(crate) calls_after_thread_exit: AtomicU64,
}

impl Collector {
    fn new() -> Self {
        let recorder = Arc::new(Recorder::new());
        let diagnostics = Arc::new(DiagnosticLines::default());
        Self {
            sites: Mutex::new(Vec::new()),
            paths: Mutex::new(CallPaths::new()),
            threads: Threads::default(),
            window: Mutex::new(MeasuringWindow::new()),
            part: Mutex::new(MeasuredPart::new()),
            flags: AtomicU8::new(0),
            default_stream: DefaultStream::default(),
            first_context: FirstContext::new(),
            gpu: Timing::new(Arc::clone(&recorder), Arc::clone(&diagnostics), add_device),
            cupti: cupti::SharedAttribution::new(Arc::clone(&recorder)),
            lines: cupti::LineCache::default(),
            recorder,
            clocks: PolledClocks::default(),
            layer_notes: OnceLock::new(),
            diagnostics,
            process: ProcessState::default(),
            calls_after_thread_exit: AtomicU64::new(0),
        }
    }

    /// Whether no window was opened yet.
    pub(crate) fn is_untouched(&self) -> bool {
        matches!(self.window.lock().state, WindowState::Initial)
    }

    /// Opens a window: from now on everything is counted from zero, under `settings`.
    pub(crate) fn start(&self, settings: Arc<Settings>) {
        let mut window = self.window.lock();
        match settings.recorded_events() {
            Some(limit) => self.recorder.start(limit),
            None => self.recorder.stop(),
        }
        self.open_window(&mut window, settings);
        let began = window_epoch::current();
        window.looks.end_all(began);
    }

    fn open_window(&self, window: &mut MeasuringWindow, settings: Arc<Settings>) {
        let ending = self.ending(window);
        let sampling = settings.sampling();
        window.state = WindowState::Open(settings);
        let first = window_epoch::next(window.measures());
        let now_ns = clock::rough_ns(clock::now());
        let asks = cupti::is_running();
        self.gpu.sampling.begin(sampling, asks, first, now_ns);
        self.part.lock().set_paused(window.begins_paused());
        self.begin_window(window, ending);
        self.apply_flags(window);
    }

    /// Closes the window: spans do nothing until the next [`start`](Self::start).
    pub(crate) fn stop(&self) {
        let mut window = self.window.lock();
        let ending = self.ending(&window);
        window.state = WindowState::Closed;
        self.recorder.stop();
        let totals = self.next_window(&mut window);
        self.part.lock().begin(None);
        window.steps = StepClock::default();
        window.ended.add(ending, totals);
        window.looks.end_all(window_epoch::current());
        self.apply_flags(&window);
    }

    /// Switches the recorder of the time line on or off, if the window has a time line.
    pub(crate) fn record(&self, on: bool) -> bool {
        let window = self.window.lock();
        let is_open = self.recorder.switch(on);
        self.apply_flags(&window);
        is_open
    }

    /// Counts from zero again, under the same settings. A look of a viewer goes on.
    pub(crate) fn reset(&self) {
        let mut window = self.window.lock();
        let ending = self.ending(&window);
        self.begin_window(&mut window, ending);
        self.change_cupti_window(&self.part.lock());
    }

    /// Has the open window measured from now on, or paused, if `asks` is true for its settings.
    /// Called inside CUDA calls of the program's: waits for no lock that is held while something is
    /// copied.
    pub(crate) fn measure(&self, on: bool, asks: fn(&Settings) -> bool) {
        // There, a thread that does not exist may hold the lock.
        if fork::is_child() {
            return;
        }
        let now = clock::now();
        let mut part = self.part.lock();
        let measures = |settings: &Settings| settings.mode == Mode::On && asks(settings);
        if part.settings.as_deref().is_some_and(measures) && part.change(!on, now) {
            self.apply(&part);
        }
    }

    /// Nothing is measured from now on, in any window.
    #[cfg(feature = "inject")]
    pub(crate) fn end_measuring(&self) {
        let now = clock::now();
        let mut part = self.part.lock();
        if part.end(now) {
            self.apply(&part);
        }
    }

    /// Ends one step of the program and begins the next. In a pause there are no steps, and one
    /// that a pause falls into is not counted: the next begins when the pause ends.
    pub(crate) fn step(&self) {
        let mut window = self.window.lock();
        let runs_since = self.part.lock().wall.runs_since;
        if let Some(runs_since) = runs_since {
            if let Some(ticks) = window.steps.step(runs_since, clock::now) {
                self.cupti.end_step(ticks);
            }
            window.looks.step();
        }
    }

    fn ending(&self, window: &MeasuringWindow) -> Option<EndingWindow> {
        window.ending(|| self.wall_ticks())
    }

    /// How long the open window was measured. The clock may take its time: it is read without a
    /// lock that a first call needs.
    fn wall_ticks(&self) -> u64 {
        let wall = self.part.lock().wall;
        wall.ticks(clock::now)
    }

    /// Has every site decide again what its spans do.
    fn apply_flags(&self, window: &MeasuringWindow) {
        let mut part = self.part.lock();
        part.apply(window.settings().cloned(), window.flags());
        self.apply(&part);
    }

    fn apply(&self, part: &MeasuredPart) {
        let mut flags = part.flags();
        if flags.contains(SiteFlags::MEASURE) && self.recorder.is_on() {
            flags = flags.union(SiteFlags::RECORD);
        }
        self.flags.store(flags.bits(), Relaxed);
        all_sites().for_each(Site::reconsider);
        self.change_cupti_window(part);
    }

    /// Has activity that is launched from now on count in the current window, or in none.
    fn change_cupti_window(&self, part: &MeasuredPart) {
        let counts = part.flags().contains(SiteFlags::CORRELATE);
        self.cupti.set_window(counts.then(window_epoch::current));
    }

    fn begin_window(&self, window: &mut MeasuringWindow, ending: Option<EndingWindow>) {
        // What is skipped while the first window opens counts in it.
        let has_ended = window.began_at != SystemTime::UNIX_EPOCH;
        let totals = self.next_window(window);
        self.threads.begin_rows();
        let ended = &mut window.ended;
        ended.add(ending, totals);
        let cleared = ended_windows::cleared_errors(|| self.gpu.clear_failure_counts());
        window.looks.add_errors(&cleared);
        ended.add_errors(cleared);
        ended.add_dropped(self.calls_after_thread_exit.swap(0, Relaxed));
        if has_ended {
            ended.add_dropped(own_work::take_skipped());
        }
        self.clocks.reset();
        // A program that is not measured is spared the clock's calibration.
        let began = window.measures().then(clock::now);
        self.part.lock().begin(began);
        window.steps = StepClock::new(began);
        window.began_at = SystemTime::now();
        window.cupti = cupti::counts().unwrap_or_default();
    }

    /// Begins the next window. Returns what the threads have counted in the one that ends.
    fn next_window(&self, window: &mut MeasuringWindow) -> Totals {
        // Before the number moves: a call that ends in between counts in the new window, and only
        // its sample is late, which shows as untimed. In the other order it would have a GPU time
        // and no call.
        let counters = self.threads.next_window();
        let number = window_epoch::next(window.measures());
        let looks = window.looks.windows();
        self.gpu.begin_window(number, &looks);
        let stalls = self.cupti.begin_window(number, &looks);
        if !window.looks.is_any_open() {
            return counters;
        }
        let ended = HostTotals {
            counters,
            wall_ticks: self.wall_ticks(),
        };
        window.looks.add(&ended, stalls.as_ref());
        ended.counters
    }

    /// The settings of the open window. `None`: there is none, or the lock could not be taken
    /// within `limit`.
    pub(crate) fn settings(&self, limit: Duration) -> Option<Arc<Settings>> {
        self.window.try_lock_for(limit)?.settings().cloned()
    }

    /// Whether the window is locked now.
    pub(crate) fn is_held(&self) -> bool {
        self.window.is_locked()
    }

    fn flags(&self) -> SiteFlags {
        SiteFlags::from_bits(self.flags.load(Relaxed))
    }

    /// Whether GPU times are measured now.
    pub(crate) fn times_gpu(&self) -> bool {
        self.flags().contains(SiteFlags::TIME_GPU)
    }

    /// Decides whether the spans of `site` do anything, and stores the answer in it.
    pub(crate) fn decide(&self, site: &'static Site) -> bool {
        // Held until the answer is stored, which must not be stored after a site is asked to decide
        // anew.
        let part = self.part.lock();
        let measures = |settings: &Arc<Settings>| settings.measures(site.name());
        if part.settings.as_ref().is_some_and(measures) {
            self.register_site(site);
            site.set_flags(self.flags())
        } else {
            site.set_flags(SiteFlags::NONE)
        }
    }

    fn register_site(&self, site: &'static Site) {
        let mut sites = self.sites.lock();
        if site.id().is_none()
            && let Ok(id) = u32::try_from(sites.len())
        {
            site.set_id(id);
            sites.push(site);
        }
    }

    /// Counters for a thread that begins, and the thread's number: 1 or more.
    pub(crate) fn attach_thread(&self) -> (&'static ThreadCounters, u32) {
        self.threads.attach()
    }

    /// Makes the counters of a thread that ends free for another thread.
    pub(crate) fn detach_thread(&self, counters: &'static ThreadCounters) {
        self.threads.detach(counters, DETACH_TIMEOUT);
    }

    /// A future that began on `path` at `started` clock ticks ended on a thread that cannot record
    /// it: it is no longer in progress.
    pub(crate) fn end_unrecorded_future(&self, path: u32, started: u64) {
        // In a forked child the lock may be held for ever.
        if !fork::is_child() {
            self.threads
                .end_unrecorded_future(path, started, DETACH_TIMEOUT);
        }
    }

    /// Waits until the GPU times of all ended calls are read, at most `limit`.
    pub(crate) fn wait(&self, limit: Duration) {
        self.gpu.wait(limit);
    }
}
