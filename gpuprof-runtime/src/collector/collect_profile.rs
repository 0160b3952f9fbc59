//! Copies what a profile is made from, under the locks of the window, the resolver and CUPTI, and
//! makes the profile of the copy without these: a first call or a step does not wait for it.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::Collector;
use super::ended_windows;
#[cfg(feature = "metrics")]
use super::step_clock::StepClock;
use super::window::MeasuringWindow;
use super::window_copy::WindowCopy;
use super::window_totals::HostTotals;
use crate::clock;
use crate::cupti;
use crate::driver::{self, Driver};
use crate::os::own_work;
use crate::settings::{CuptiMode, Mode, Sampling, Settings};
use crate::site::all_sites::all_sites;
use crate::stats::build_profile;
use crate::stats::by_window::Since;
use crate::stats::gpu_totals::GpuTimeTotals;
use crate::stats::host_totals::Totals;
use crate::stats::profile_inputs::ProfileInputs;
use gpuprof_report::findings;
use gpuprof_report::profile::Profile;

/// The note of a run that asks for counters, and not to start CUPTI.
const COUNTERS_WITHOUT_CUPTI: &str = "hardware counters are not sampled (GPUPROF_COUNTERS): \
    GPUPROF_CUPTI is off, whose records say which kernels ran";

/// The note of a run that asks for stalls, and not to start CUPTI.
const STALLS_WITHOUT_CUPTI: &str = "stalls are not sampled (GPUPROF_STALLS): GPUPROF_CUPTI is off, \
    by which they are";

/// The note of a run that asks for the lines of launches, and not to start CUPTI.
const STACKS_WITHOUT_CUPTI: &str = "the source lines of launches are not recorded \
    (GPUPROF_STACKS): GPUPROF_CUPTI is off, whose callbacks say when something is launched";

/// The note of a run that asks for memory, and not to start CUPTI.
const MEMORY_WITHOUT_CUPTI: &str = "allocations are not recorded (GPUPROF_MEMORY): GPUPROF_CUPTI \
    is off, whose records have them";

/// The note of a build that cannot look at stacks.
const STACKS_WITHOUT_FEATURE: &str = "the source lines of launches are not recorded \
    (GPUPROF_STACKS): gpuprof is built without its feature cupti";

/// The note of a look in which the code of a sampled kernel is unknown.
const LOADED_BEFORE: &str = "source lines are omitted for kernels of modules that were loaded \
    before the look, or are built without line information";

/// The note of a look in which most samples are in code that CUPTI does not name.
fn unnamed_code(profile: &Profile) -> Option<String> {
    let stalls = profile.stalls.as_ref()?;
    let (known, other) = (stalls.samples, stalls.other_samples);
    (other > known).then(|| {
        format!(
            "{other} of {} samples are in code that CUPTI does not name: of kernels that were \
             loaded before the look, of the driver, or its own. For the first, begin with a look \
             with --stalls, or start the program with GPUPROF_STALLS=on",
            known + other
        )
    })
}

/// The note for a program in which the CUDA driver shut down before the report was made.
const DRIVER_ENDED: &str =
    "the CUDA driver shut down before the program ended: from then on nothing was timed on the GPU";

impl Collector {
    /// The profile of the open window so far. `None`: a lock could not be taken within `limit`.
    pub(crate) fn profile(&self, limit: Duration) -> Option<Profile> {
        let copy = self.copy_window(limit)?;
        self.build_profile(copy, limit)
    }

    /// The profile of all windows so far, without the times of steps. `None`: a lock could not be
    /// taken within `limit`.
    #[cfg(feature = "metrics")]
    pub(crate) fn profile_since_start(&self, limit: Duration) -> Option<Profile> {
        let window = self.window.try_lock_for(limit)?;
        let parts = self.parts(&window, Since::Process, limit)?;
        let ended = &window.ended;
        let mut host = ended.totals.clone();
        host.merge(&parts.host);
        let copy = WindowCopy {
            counters: host.counters,
            wall_ticks: host.wall_ticks,
            gpu: parts.gpu,
            cupti: parts.cupti.tables,
            symbols: parts.cupti.symbols,
            since: cupti::CollectionCounts::default(),
            settings: window.settings_since_start(),
            began_at: ended.began_at.unwrap_or(window.began_at),
            steps: StepClock::default(),
            runs_cupti: window.runs_cupti() || ended.ran_cupti,
            part_note: None,
            errors: ended_windows::errors_since(&ended.errors),
            stalls: self.cupti.pc_sampling.sampled(limit),
        };
        drop(window);
        self.build_profile(copy, limit)
    }

    pub(super) fn copy_window(&self, limit: Duration) -> Option<WindowCopy> {
        let window = self.window.try_lock_for(limit)?;
        let parts = self.parts(&window, Since::Window, limit)?;
        Some(WindowCopy {
            counters: parts.host.counters,
            wall_ticks: parts.host.wall_ticks,
            gpu: parts.gpu,
            cupti: parts.cupti.tables,
            symbols: parts.cupti.symbols,
            since: window.cupti.clone(),
            settings: window.settings().cloned(),
            began_at: window.began_at,
            steps: window.steps.clone(),
            runs_cupti: window.runs_cupti(),
            part_note: self.part.lock().note(window.runs_cupti()),
            errors: ended_windows::errors_since(&[]),
            stalls: self.cupti.pc_sampling.sampled(limit),
        })
    }

    pub(super) fn parts(
        &self,
        window: &MeasuringWindow,
        since: Since,
        limit: Duration,
    ) -> Option<ProfileParts> {
        // Read GPU times before call counts. A thread counts a call before it sends the event pair
        // to the resolver, so every GPU time read here has its call in the counts read next.
        let gpu = self.gpu.totals_since(since, limit)?;
        let cupti = self.cupti.attributed(since, limit)?;
        let mut counters = self.threads.window_totals(limit)?;
        if !window.measures() {
            // Calls in progress belong to no session.
            counters.set_open_calls(&Totals::default());
        }
        let host = HostTotals {
            counters,
            wall_ticks: self.wall_ticks(),
        };
        Some(ProfileParts { host, gpu, cupti })
    }

    /// Makes the profile of a copy. `None`: a lock could not be taken within `limit`.
    pub(super) fn build_profile(&self, copy: WindowCopy, limit: Duration) -> Option<Profile> {
        let WindowCopy {
            counters,
            wall_ticks,
            gpu,
            cupti: tables,
            symbols,
            since,
            settings,
            began_at,
            steps,
            runs_cupti,
            part_note,
            errors,
            stalls,
        } = copy;
        let settings = settings.as_deref();
        let measures = settings.is_some_and(|settings| settings.mode == Mode::On);
        let paths = self.paths.try_lock_for(limit)?.list().to_vec();
        let sites = self.sites.try_lock_for(limit)?.clone();
        let names = cupti::KernelNames::new(&tables, &symbols, &self.lines);
        let scale = clock::scale();
        let of_cupti = runs_cupti.then_some(&tables);
        let (memory, memory_by_site) = self.memory(settings, of_cupti, &paths, &sites, limit)?;
        let mut inputs = ProfileInputs {
            never_called: all_sites()
                .filter(|site| {
                    // One that was registered after `sites` was copied.
                    let is_listed = |id: u32| (id as usize) < sites.len();
                    !site.id().is_some_and(is_listed)
                        && settings.is_some_and(|s| s.measures(site.name()))
                })
                .collect(),
            in_filter: Box::new(|site| settings.is_none_or(|s| s.measures(site.name()))),
            sites: &sites,
            paths: &paths,
            // The first read of the clock calibrates it.
            now: if measures { clock::now() } else { 0 },
            totals: counters,
            scale,
            wall_ns: scale.ns(wall_ticks),
            gpu,
            cupti: runs_cupti
                .then(|| cupti::recorded_activity(&tables, &names, &paths, memory_by_site)),
        };
        let mut profile = build_profile::profile(&mut inputs);
        profile.started_at = humantime::format_rfc3339_millis(began_at).to_string();
        profile.memory = memory;
        profile.steps = steps.times(scale);
        if let Some(steps) = &mut profile.steps {
            tables.steps.write(steps, scale);
        }
        let diagnostics = &mut profile.diagnostics;
        diagnostics.sampling =
            settings.map_or(Sampling::EveryCall, |_| self.gpu.sampling.session());
        diagnostics.overhead_ns = inputs.scale.ns(inputs.totals.overhead_ticks);
        diagnostics.setup_ns = inputs.scale.ns(inputs.totals.setup_ticks);
        diagnostics.stalled_ns = inputs.scale.ns(inputs.totals.stalled_ticks);
        diagnostics.dropped += self.calls_after_thread_exit.load(Relaxed);
        diagnostics.dropped += own_work::skipped();
        profile.diagnostics.errors = errors;
        profile.diagnostics.notes.extend(part_note);
        self.add_gpu_diagnostics(&mut profile, &tables.devices(), limit);
        if let Some(settings) = settings.filter(|settings| !settings.asks_for_cupti()) {
            let needs = [
                (settings.counters.is_on(), COUNTERS_WITHOUT_CUPTI),
                (settings.stalls, STALLS_WITHOUT_CUPTI),
                (settings.memory, MEMORY_WITHOUT_CUPTI),
            ];
            let notes = needs.iter().filter(|(is_asked, _)| *is_asked);
            let notes = notes.map(|(_, note)| (*note).to_owned());
            profile.diagnostics.notes.extend(notes);
        }
        if settings.is_some_and(|settings| settings.stacks) {
            let is_built = cfg!(feature = "cupti");
            let note = if settings.is_some_and(Settings::asks_for_cupti) {
                (!is_built).then_some(STACKS_WITHOUT_FEATURE)
            } else {
                Some(STACKS_WITHOUT_CUPTI)
            };
            profile.diagnostics.notes.extend(note.map(str::to_owned));
        }
        let settings = settings.filter(|settings| settings.asks_for_cupti() && measures);
        if let Some(settings) = settings {
            profile.diagnostics.notes.extend(cupti::notes());
            profile
                .diagnostics
                .notes
                .extend(self.cupti.pm_sampling.notes(&settings.counters));
            profile.diagnostics.notes.extend(self.cupti.note());
            profile.cupti = cupti::counts().map(|counts| counts.since(&since));
            profile
                .diagnostics
                .notes
                .extend(self.cupti.pc_sampling.notes());
            let losses = stalls.iter().flat_map(cupti::SampledStalls::losses);
            profile.diagnostics.notes.extend(losses);
            // Another viewer may have asked for them.
            if !settings.standby || settings.counters.is_on() {
                profile.counters = self.cupti.pm_sampling.devices();
            }
            cupti::write_to_profile(&mut profile, &tables, &names, &paths);
            if let Some(cupti) = &mut profile.cupti {
                cupti.all_calls = settings.cupti == Some(CuptiMode::Full);
            }
            if settings.stacks && profile.cupti.is_some() {
                let stacks = &tables.unattributed_stacks;
                cupti::write_launch_lines(&mut profile, stacks, &self.lines);
            }
            self.add_code(&mut profile, stalls.as_ref(), settings.standby, limit);
        }
        if profile.cupti.is_some() {
            profile.throttled = self.clocks.throttled(limit);
            self.clocks.add_links(&mut profile.devices, limit);
        }
        profile.findings = findings::findings(&profile);
        self.diagnostics.add_notes(&profile.diagnostics.notes);
        Some(profile)
    }

    /// Adds what follows from the code of kernels.
    fn add_code(
        &self,
        profile: &mut Profile,
        stalls: Option<&cupti::SampledStalls>,
        in_standby: bool,
        limit: Duration,
    ) {
        let Some(subscription) = cupti::subscription() else {
            return;
        };
        let (modules, library) = (&self.cupti.modules, subscription.library);
        if let Some(sampled) = stalls {
            let has_all_code = cupti::write_stalls(profile, sampled, modules, library, limit);
            let note = (in_standby && !has_all_code).then(|| LOADED_BEFORE.to_owned());
            let unknown = in_standby.then(|| unnamed_code(profile)).flatten();
            profile
                .diagnostics
                .notes
                .extend(note.into_iter().chain(unknown));
        }
        cupti::write_double_lines(profile, modules, library, limit);
        profile.diagnostics.notes.extend(modules.note(limit));
    }

    /// `devices`: those that CUPTI has records of.
    fn add_gpu_diagnostics(&self, profile: &mut Profile, devices: &[u32], limit: Duration) {
        profile.diagnostics.no_cuda = !driver::is_initialized();
        profile.diagnostics.notes.extend(self.default_stream.note());
        let notes = self.layer_notes.get().map(|notes| notes());
        profile
            .diagnostics
            .notes
            .extend(notes.into_iter().flatten());
        self.gpu.describe(devices, limit);
        let Some(driver) = Driver::loaded() else {
            return;
        };
        profile.devices = self.gpu.devices(limit);
        let diagnostics = &mut profile.diagnostics;
        diagnostics.event_overhead_ns = self.gpu.largest_event_overhead_ns(limit);
        let required = driver.lacks();
        if let Some(symbol) = required {
            diagnostics.notes.push(format!(
                "GPU timing is off: the CUDA driver has no {symbol}; a newer driver has it"
            ));
        }
        let untimed = &diagnostics.untimed;
        if driver.has_ended() && untimed.unavailable + untimed.unfinished > 0 {
            diagnostics.notes.push(DRIVER_ENDED.to_owned());
        }
        let missing = driver.missed().into_iter();
        let others = missing.filter(|symbol| Some(*symbol) != required);
        diagnostics.notes.extend(
            others.map(|symbol| format!("the CUDA driver has no {symbol}; a newer driver has it")),
        );
    }
}

/// What was measured in the current window on the program's threads, and since a moment on the GPU.
pub(super) struct ProfileParts {
    pub(super) host: HostTotals,
    pub(super) gpu: GpuTimeTotals,
    pub(super) cupti: cupti::Attributed,
}
