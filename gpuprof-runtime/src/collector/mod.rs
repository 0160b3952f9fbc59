//! The one global: which sites are on, all threads' counters, the current measuring window.
//!
//! Spans come here only when they meet something for the first time. Must not import span, thread or report.

mod first_stream;
mod steps;

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;

pub(crate) use self::first_stream::{note_stream, set_on_first_stream};
use self::steps::Steps;
use crate::clock;
use crate::cupti;
use crate::gpu::{Driver, Timing};
use crate::nvml;
use crate::settings::{Mode, Sampling, Settings};
use crate::site::{self, CORRELATE, EMIT_NVTX, Entry, GATE_UNKNOWN, MEASURE, Site, TIME_GPU};
use crate::stats::build_profile;
use crate::stats::gpu_totals::GpuTotals;
use crate::stats::path_ids::CallPaths;
use crate::stats::totals::Totals;
use crate::stats::windowed::LatePolicy;
use crate::stats::{self, thread_counters::ThreadCounters};
use gpuprof_report::findings;
use gpuprof_report::profile::Profile;

/// What open gates let spans do: a set of [`MEASURE`], [`TIME_GPU`], [`EMIT_NVTX`] and [`CORRELATE`].
static DUTIES: AtomicU8 = AtomicU8::new(0);

/// How long a thread that ends waits to hand its counters on. Who holds that lock holds it for milliseconds.
const DETACH_TIMEOUT: Duration = Duration::from_secs(5);

static COLLECTOR: LazyLock<Collector> = LazyLock::new(Collector::new);

/// Whether GPU times are measured now.
pub(crate) fn times_gpu() -> bool {
    DUTIES.load(Relaxed) & TIME_GPU != 0
}

/// The collector of the process.
pub(crate) fn collector() -> &'static Collector {
    &COLLECTOR
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Collector {
    sites: Mutex<Vec<&'static Site>>,
    pub(crate) paths: Mutex<CallPaths>,
    threads: Mutex<Threads>,
    window: Mutex<Window>,
    pub(crate) gpu: Timing,
    pub(crate) work: cupti::Attribution,
    /// Calls on threads whose own counters are gone already.
    pub(crate) calls_after_thread_exit: AtomicU64,
}

/// The counters of all threads.
#[derive(Debug, Default)]
struct Threads {
    all: Vec<&'static ThreadCounters>,
    /// Those whose thread has ended: the next to begin goes on with them.
    free: Vec<&'static ThreadCounters>,
    /// Threads so far.
    begun: u32,
    /// What stood in all when the current window began.
    base: Totals,
}

/// What is being measured, and since when.
#[derive(Debug)]
struct Window {
    state: State,
    /// Clock ticks; `None` where nothing is measured, and the clock was never looked at.
    began: Option<u64>,
    began_at: SystemTime,
    /// Under a schedule.
    steps: Option<Steps>,
    /// What had come from CUPTI when it began.
    cupti: cupti::CollectionCounts,
}

/// What was counted in some stretch of time.
#[derive(Clone, Debug, Default)]
pub(crate) struct WindowTotals {
    totals: Totals,
    gpu: GpuTotals,
    work: cupti::WindowTables,
    wall_ns: u64,
}

/// What has come for an earlier window that still counts.
#[derive(Debug, Default)]
struct LateTotals {
    gpu: GpuTotals,
    work: cupti::WindowTables,
}

impl WindowTotals {
    fn add_late(&mut self, late: &LateTotals) {
        self.gpu.fold(&late.gpu);
        self.work.merge(&late.work);
    }

    fn fold(&mut self, other: &Self) {
        self.totals.fold(&other.totals);
        self.gpu.fold(&other.gpu);
        self.work.merge(&other.work);
        self.wall_ns += other.wall_ns;
    }
}

#[derive(Debug)]
enum State {
    /// Nothing has asked yet: the first span starts what the environment says.
    Untouched,
    Running(Arc<Settings>),
    /// A session has ended and none was started since.
    Stopped,
}

impl Window {
    fn settings(&self) -> Option<&Arc<Settings>> {
        match &self.state {
            State::Running(settings) => Some(settings),
            State::Untouched | State::Stopped => None,
        }
    }

    /// What open gates let spans do now.
    fn duties(&self) -> u8 {
        let rests = self.steps.as_ref().is_some_and(Steps::rests);
        match self.settings().map(|settings| settings.mode) {
            Some(Mode::On) if !rests => MEASURE | TIME_GPU | EMIT_NVTX | self.correlates(),
            Some(Mode::Nvtx) if !rests => EMIT_NVTX,
            _ => 0,
        }
    }

    fn correlates(&self) -> u8 {
        if self.runs_cupti() { CORRELATE } else { 0 }
    }

    fn runs_cupti(&self) -> bool {
        let asked = self.settings().is_some_and(|settings| settings.cupti);
        asked && cupti::is_running()
    }

    fn wall_ns(&self) -> u64 {
        let ended = self.steps.as_ref().and_then(|steps| steps.ended);
        self.began.map_or(0, |began| {
            clock::ns_between(began, ended.unwrap_or_else(clock::now))
        })
    }
}

impl Collector {
    fn new() -> Self {
        Self {
            sites: Mutex::new(Vec::new()),
            paths: Mutex::new(CallPaths::new()),
            threads: Mutex::new(Threads::default()),
            window: Mutex::new(Window {
                state: State::Untouched,
                began: None,
                began_at: SystemTime::UNIX_EPOCH,
                steps: None,
                cupti: cupti::CollectionCounts::default(),
            }),
            gpu: Timing::new(),
            work: cupti::Attribution::new(),
            calls_after_thread_exit: AtomicU64::new(0),
        }
    }

    /// Whether the window is still to be opened by whoever comes first.
    pub(crate) fn is_untouched(&self) -> bool {
        matches!(self.window.lock().state, State::Untouched)
    }

    /// Opens a window: from now on everything counts from zero, under `settings`.
    pub(crate) fn start(&self, settings: Arc<Settings>) {
        let mut window = self.window.lock();
        self.gpu
            .set_sampling(settings.sampling(cupti::is_running()));
        window.steps = settings.schedule.map(Steps::new);
        window.state = State::Running(settings);
        self.begin_window(&mut window);
        self.set_duties(&window);
    }

    /// Closes the window: spans do nothing until the next [`start`](Self::start).
    pub(crate) fn stop(&self) {
        let mut window = self.window.lock();
        window.state = State::Stopped;
        self.set_duties(&window);
    }

    /// Counts from zero again, under the same settings.
    pub(crate) fn reset(&self) {
        let mut window = self.window.lock();
        self.begin_window(&mut window);
        if let Some(steps) = &mut window.steps {
            steps.forget();
        }
        self.count_work(&window);
    }

    /// Sets what spans are to do, and makes every site ask again.
    fn set_duties(&self, window: &Window) {
        set_duties(window.duties());
        self.count_work(window);
    }

    /// Has what is launched from now on count in the window as it is now.
    fn count_work(&self, window: &Window) {
        let counts = site::correlates(window.duties());
        self.work.set_window(counts.then(stats::epoch));
    }

    fn begin_window(&self, window: &mut Window) {
        self.next_window(window, LatePolicy::Discard);
        self.gpu.forget_failures();
        self.calls_after_thread_exit.store(0, Relaxed);
        nvml::reset();
        // The first look at the clock takes a while: a program that is not measured is spared it.
        let measures = |settings: &Arc<Settings>| settings.mode == Mode::On;
        window.began = window.settings().is_some_and(measures).then(clock::now);
        window.began_at = SystemTime::now();
        window.cupti = cupti::counts().unwrap_or_default();
        if let Some(steps) = &mut window.steps {
            steps.cupti = window.cupti.clone();
        }
    }

    // The base is taken before the epoch moves: a call that ends in between counts in the new window, and only the
    // sample it sends is late, which shows as untimed. The other way round it would have a GPU time and no call.
    fn next_window(&self, window: &Window, late: LatePolicy) -> (WindowTotals, LateTotals) {
        let totals = {
            let mut threads = self.threads.lock();
            let all = threads.totals();
            let mut totals = all.clone();
            totals.subtract(&threads.base);
            threads.base = all;
            totals
        };
        let (gpu, late_gpu) = self.gpu.next_window(late);
        let (work, late_work) = self.work.next_window(stats::epoch(), late);
        let wall_ns = window.wall_ns();
        let totals = WindowTotals {
            totals,
            gpu,
            work,
            wall_ns,
        };
        let late = LateTotals {
            gpu: late_gpu,
            work: late_work,
        };
        (totals, late)
    }

    /// The settings of the open window; `None` also when the lock is not to be had within `limit`.
    pub(crate) fn settings(&self, limit: Duration) -> Option<Arc<Settings>> {
        self.window.try_lock_for(limit)?.settings().cloned()
    }

    /// Whether somebody is at the window now.
    pub(crate) fn is_held(&self) -> bool {
        self.window.is_locked()
    }

    /// Decides whether `site` is on; its gate keeps the answer.
    pub(crate) fn decide(&self, site: &'static Site) -> bool {
        // Held until the gate is set: else a window that opens meanwhile would find the answer for the one before.
        let window = self.window.lock();
        let measures = |settings: &Arc<Settings>| settings.measures(site.name());
        if window.settings().is_some_and(measures) {
            self.register_site(site);
            site.set_duties(DUTIES.load(Relaxed))
        } else {
            site.set_duties(0)
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

    /// The site of this number.
    pub(crate) fn site(&self, number: u32) -> Option<&'static Site> {
        self.sites.lock().get(number as usize).copied()
    }

    /// Counters for a thread that begins, and the thread's number: 1 or more.
    pub(crate) fn attach_thread(&self) -> (&'static ThreadCounters, u32) {
        let mut threads = self.threads.lock();
        // 0 stands for no thread, also after four thousand million of them.
        threads.begun = threads.begun.wrapping_add(1).max(1);
        let shared = threads.free.pop().unwrap_or_else(|| {
            let shared: &'static ThreadCounters = Box::leak(Box::default());
            threads.all.push(shared);
            shared
        });
        (shared, threads.begun)
    }

    /// Takes the counters of a thread that ends.
    pub(crate) fn detach_thread(&self, shared: &'static ThreadCounters) {
        // In a forked child the lock may be held for ever, by a thread that was not forked.
        if let Some(mut threads) = self.threads.try_lock_for(DETACH_TIMEOUT) {
            threads.free.push(shared);
        }
    }

    /// Waits until the GPU times of all ended calls are read, at most `limit`.
    pub(crate) fn wait(&self, limit: Duration) {
        self.gpu.wait(limit);
    }

    /// What the open window has measured up to now, or `None` when a lock that this needs is not to be had within `limit`.
    pub(crate) fn profile(&self, limit: Duration) -> Option<Profile> {
        let window = self.window.try_lock_for(limit)?;
        let (now, late, symbols) = self.totals(&window, limit)?;
        let totals = match &window.steps {
            None => now,
            Some(steps) => {
                let mut totals = steps.done.clone();
                totals.add_late(&late);
                if steps.counts() {
                    totals.fold(&now);
                }
                totals
            }
        };
        self.profile_of(&window, totals, &symbols, &window.cupti, limit)
    }

    fn totals(
        &self,
        window: &Window,
        limit: Duration,
    ) -> Option<(WindowTotals, LateTotals, cupti::SymbolTable)> {
        // GPU times first: a call is booked before its sample is sent, so none is timed that is not counted.
        let (gpu, late_gpu) = self.gpu.stats(limit)?;
        let attributed = self.work.attributed(limit)?;
        let totals = WindowTotals {
            totals: self.threads.try_lock_for(limit)?.in_window(),
            gpu,
            work: attributed.current,
            wall_ns: window.wall_ns(),
        };
        let late = LateTotals {
            gpu: late_gpu,
            work: attributed.late,
        };
        Some((totals, late, attributed.symbols))
    }

    fn profile_of(
        &self,
        window: &Window,
        totals: WindowTotals,
        symbols: &cupti::SymbolTable,
        since: &cupti::CollectionCounts,
        limit: Duration,
    ) -> Option<Profile> {
        let WindowTotals {
            totals,
            gpu,
            work,
            wall_ns,
        } = totals;
        let (own_ticks, setup_ticks) = (totals.own_ticks, totals.setup_ticks);
        let stalled_ticks = totals.stalled_ticks;
        let paths = self.paths.try_lock_for(limit)?.list().to_vec();
        let sites = self.sites.try_lock_for(limit)?.clone();
        let settings = window.settings();
        let inputs = build_profile::ProfileInputs {
            never_entered: inventory::iter::<Entry>
                .into_iter()
                .map(|entry| entry.0)
                .filter(|site| {
                    site.id().is_none() && settings.is_some_and(|s| s.measures(site.name()))
                })
                .collect(),
            in_filter: Box::new(|site| settings.is_none_or(|s| s.measures(site.name()))),
            sites: &sites,
            paths: &paths,
            totals,
            gpu,
            cupti: window
                .runs_cupti()
                .then(|| cupti::activity_by_site(&work, symbols)),
        };
        let mut profile = build_profile::profile(&inputs);
        profile.wall_ns = wall_ns;
        profile.started_at = humantime::format_rfc3339_millis(window.began_at).to_string();
        profile.schedule = window.steps.as_ref().map(Steps::progress);
        profile.diagnostics.sampling =
            settings.map_or(Sampling::EveryCall, |_| self.gpu.sampling());
        profile.diagnostics.overhead_ns = clock::ns(own_ticks);
        profile.diagnostics.setup_ns = clock::ns(setup_ticks);
        profile.diagnostics.stalled_ns = clock::ns(stalled_ticks);
        profile.diagnostics.dropped += self.calls_after_thread_exit.load(Relaxed);
        self.add_gpu_diagnostics(&mut profile, limit);
        if settings.is_some_and(|settings| settings.cupti && settings.mode == Mode::On) {
            profile.diagnostics.notes.extend(cupti::notes());
            profile.diagnostics.notes.extend(self.work.note());
            profile.cupti = cupti::counts().map(|counts| counts.since(since));
            cupti::write_to_profile(&mut profile, &work, symbols);
        }
        if profile.cupti.is_some() {
            profile.throttled = nvml::throttled(limit);
        }
        profile.findings = findings::findings(&profile);
        Some(profile)
    }

    fn add_gpu_diagnostics(&self, profile: &mut Profile, limit: Duration) {
        let Some(driver) = Driver::met() else {
            return;
        };
        profile.devices = self.gpu.devices(limit);
        profile.diagnostics.event_overhead_ns = self.gpu.floor_ns(limit);
        profile.diagnostics.errors = driver
            .failures()
            .into_iter()
            .map(
                |(call, code, name, count)| gpuprof_report::profile::CudaError {
                    call: call.to_owned(),
                    code,
                    name,
                    count,
                },
            )
            .collect();
        let lacks = driver.lacks();
        if let Some(symbol) = lacks {
            let note = format!(
                "GPU timing is off: the CUDA driver has no {symbol}; a newer driver has it"
            );
            profile.diagnostics.notes.push(note);
        }
        let untimed = &profile.diagnostics.untimed;
        if driver.has_ended() && untimed.unavailable + untimed.unfinished > 0 {
            profile.diagnostics.notes.push(DRIVER_ENDED.to_owned());
        }
        let missed = driver.missed().into_iter();
        let others = missed.filter(|symbol| Some(*symbol) != lacks);
        profile.diagnostics.notes.extend(
            others.map(|symbol| format!("the CUDA driver has no {symbol}; a newer driver has it")),
        );
    }
}

const DRIVER_ENDED: &str =
    "the CUDA driver shut down before the program ended: from then on nothing was timed on the GPU";

impl Threads {
    fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        self.all.iter().for_each(|thread| totals.add(thread));
        totals
    }

    fn in_window(&self) -> Totals {
        let mut totals = self.totals();
        totals.subtract(&self.base);
        totals
    }
}

/// Sets what spans are to do, and makes every site ask again.
fn set_duties(duties: u8) {
    DUTIES.store(duties, Relaxed);
    for entry in inventory::iter::<Entry> {
        entry.0.gate.store(GATE_UNKNOWN, Relaxed);
    }
}
