//! Starts CUPTI and what samples by it, and answers its callbacks.

use std::time::Duration;

use super::exit;
use super::open_windows;
use super::waits::LOCK_LIMIT;
use crate::collector::collector;
use crate::cupti;
use crate::driver::Driver;
use crate::os::own_work::OwnWork;
use crate::os::{fork, user};
use crate::settings::{self, CuptiMode, Mode, Settings};

/// Starts CUPTI, inside the program's `cuInit`, if the environment asks for what needs the code of
/// modules: the program may load them before its first annotated call, which opens the window.
pub(crate) fn prepare_in_cu_init() {
    if fork::is_child() || user::has_foreign_rights() || !collector().is_untouched() {
        return;
    }
    let _own = OwnWork::begin();
    // Messages about the settings are for when the window is opened.
    let (settings, _) = settings::from_env(std::env::vars_os());
    if settings.mode == Mode::On && settings.asks_for_cupti() && samples_kernels(&settings) {
        exit::register_fork_handler();
        // Nothing is launched before `cuInit` returns.
        start_cupti(&settings, false, false);
        if settings.stalls {
            cupti::count_calls();
        }
    }
}

/// Whether something is sampled that is told with the source lines of kernels.
fn samples_kernels(settings: &Settings) -> bool {
    settings.counters.is_on() || settings.stalls
}

fn start_cupti(settings: &Settings, between_launches: bool, retries: bool) {
    let how = cupti::Connecting {
        // What is shared cannot be handed over to a profiler that does not share.
        may_share: !settings.hands_cupti_over,
        between_launches,
    };
    if cupti::start(&collector().cupti, &HOOKS, how, retries) {
        exit::register_handler();
    }
    if samples_kernels(settings) {
        cupti::watch_modules(settings.stalls);
    }
}

/// Starts what the settings ask for.
pub(super) fn start(settings: &Settings) {
    // In standby stalls may be asked for while CUPTI runs, and it is left between calls.
    let in_standby = collector().process.standby.get().is_some();
    // The injected library starts it inside `cuInit`.
    let beside_launches = settings.stalls && !settings.is_injected;
    start_cupti(settings, in_standby || beside_launches, false);
    start_optional(settings);
}

/// The same for a viewer, who may try again, unless a session has begun meanwhile.
pub(super) fn start_for_look(settings: &Settings) {
    start_cupti(settings, true, true);
    if cupti::is_running() {
        open_windows::change_cupti(|| start_optional(settings));
    }
}

fn start_optional(settings: &Settings) {
    cupti::record_optional(settings.cupti == Some(CuptiMode::Full), settings.memory);
    if samples_kernels(settings) {
        exit::watch_main_thread();
    }
    if settings.counters.is_on() {
        let pm_sampling = &collector().cupti.pm_sampling;
        // No profiled function names the devices of a program without any.
        let by_context = settings.is_injected;
        pm_sampling.request(&settings.counters, by_context, exit::register_handler);
        for device in collector().gpu.devices(LOCK_LIMIT) {
            pm_sampling.start_device(device.ordinal);
        }
    }
    if settings.stalls {
        collector()
            .cupti
            .pc_sampling
            .request(exit::register_handler);
    }
}

const HOOKS: cupti::Hooks = cupti::Hooks {
    // Until records begin, which may take a while.
    subscribed: exit::register_handler,
    context_created,
    profiler_called: |starts| collector().measure(starts, |settings| !settings.from_start),
    context_used: || {
        let cupti = &collector().cupti;
        cupti.pm_sampling.meet_context();
        cupti.pc_sampling.meet_context();
    },
    context_destroyed: |context| collector().cupti.pc_sampling.end_context(context),
    module_loaded: |code| {
        let cupti = &collector().cupti;
        cupti.modules.keep(code);
        cupti.pc_sampling.take_rest();
    },
    module_unloaded: || collector().cupti.pc_sampling.flush(),
    poll_clocks,
};

fn context_created() {
    // Calls nothing of the driver's: the reader needs its functions.
    Driver::get();
    exit::watch_main_thread();
    collector().first_context.meet();
}

/// Polls GPU clocks through NVML.
fn poll_clocks() {
    let collector = collector();
    // Those that no span has used yet.
    let devices = collector.cupti.devices(LOCK_LIMIT);
    collector.gpu.describe(&devices, LOCK_LIMIT);
    // Not in a pause of the window.
    if collector.times_gpu() {
        let devices = collector.gpu.devices(Duration::ZERO);
        collector.clocks.poll(&devices);
    }
}
