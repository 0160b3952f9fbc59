//! Looks: the times in which viewers of a program in standby have it measured. They may overlap:
//! each begin and each end of one begins a window, and a look has the windows between.

use std::sync::Arc;
use std::time::Duration;

use super::Collector;
use super::ended_windows;
use super::window::WindowState;
use super::window_copy::WindowCopy;
use crate::clock;
use crate::cupti;
use crate::settings::Settings;
use crate::stats::by_window::Since;
use crate::stats::host_totals::Totals;
use crate::stats::window_epoch;
use gpuprof_report::profile::Profile;

impl Collector {
    /// Begins a look with these settings. The window gets those of all looks, `all`. Returns the
    /// number of the look.
    pub(crate) fn begin_look(&self, settings: Arc<Settings>, all: Arc<Settings>) -> u64 {
        let mut window = self.window.lock();
        self.open_window(&mut window, all);
        window.looks.begin(window_epoch::current(), settings)
    }

    /// Nothing counts that begins from now on, until another look begins.
    pub(crate) fn pause_looks(&self) {
        self.measure(false, |settings| settings.standby);
    }

    /// Ends a look, unless a session of the program has. The window gets the settings of the other
    /// looks, or those in which nothing is measured.
    pub(crate) fn end_look(&self, number: u64, rest: Arc<Settings>) {
        let mut window = self.window.lock();
        if !window
            .looks
            .get_mut(number)
            .is_some_and(|look| look.is_open())
        {
            return;
        }
        let ending = self.ending(&window);
        window.state = WindowState::Open(rest);
        let measures = window.measures();
        let totals = self.next_window(&mut window);
        window.ended.add(ending, totals);
        let began = measures.then(clock::now);
        self.part.lock().begin(began);
        let end = window_epoch::current();
        if let Some(look) = window.looks.get_mut(number) {
            look.windows.end = Some(end);
        }
        self.apply_flags(&window);
    }

    /// Whether records of what was launched in a look have not come. False if a lock was not free
    /// within `limit`.
    pub(crate) fn awaits_records(&self, number: u64, limit: Duration) -> bool {
        let windows = || Some(self.window.try_lock_for(limit)?.looks.get(number)?.windows);
        let attributed = windows().and_then(|of| self.cupti.attributed(Since::Look(of), limit));
        attributed.is_some_and(|attributed| attributed.tables.completeness.unfinished > 0)
    }

    /// No profile of the look is made any more.
    pub(crate) fn forget_look(&self, number: u64) {
        self.window.lock().looks.forget(number);
    }

    /// The profile of a look, so far if it goes on. `None`: a lock was not free within `limit`.
    pub(crate) fn look_profile(&self, number: u64, limit: Duration) -> Option<Profile> {
        let copy = self.copy_look(number, limit)?;
        self.build_profile(copy, limit)
    }

    /// What the profile of a look is made from.
    pub(super) fn copy_look(&self, number: u64, limit: Duration) -> Option<WindowCopy> {
        let window = self.window.try_lock_for(limit)?;
        let look = window.looks.get(number)?;
        let parts = self.parts(&window, Since::Look(look.windows), limit)?;
        let mut copy = WindowCopy {
            counters: Totals::default(),
            wall_ticks: 0,
            gpu: parts.gpu,
            cupti: parts.cupti.tables,
            symbols: parts.cupti.symbols,
            since: look.cupti.clone(),
            settings: Some(Arc::clone(&look.settings)),
            began_at: look.began_at,
            steps: look.steps.clone(),
            runs_cupti: look.settings.asks_for_cupti() && cupti::is_running(),
            part_note: None,
            errors: ended_windows::errors_since(&look.errors),
            // Another viewer may have asked for them.
            stalls: look.stalls.clone().filter(|_| look.settings.stalls),
        };
        let mut host = look.host.clone();
        if look.is_open() {
            host.merge(&parts.host);
            let sampled = self.cupti.pc_sampling.sampled(limit);
            copy.add_stalls(sampled.filter(|_| look.settings.stalls));
        }
        (copy.counters, copy.wall_ticks) = (host.counters, host.wall_ticks);
        Some(copy)
    }
}
