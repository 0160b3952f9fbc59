//! The control functions behind [`crate::Sim`]: `dlsym` finds them in the loaded library. A text is
//! NUL-terminated; a function whose symbol is unknown answers [`UNKNOWN`] or false.

use simbase::activity::Watcher;

use crate::abi::Text;
use crate::symbols::Symbol;
use crate::{clock, fault, load, observer, state};

/// What a count answers for a name that no exported function has.
const UNKNOWN: u64 = u64::MAX;

macro_rules! control_functions {
    ($(
        $(#[$doc:meta])*
        fn $name:ident($($arg:ident: $type:ty),*) $(-> $out:ty)? $body:block
    )*) => {$(
        $(#[$doc])*
        // SAFETY: the prefix makes the name this crate's own.
        #[unsafe(no_mangle)]
        extern "C" fn $name($($arg: $type),*) $(-> $out)? $body
    )*};
}

/// What this library was built from.
// SAFETY: the prefix makes the name this crate's own.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
static simcuda_build: u64 = load::BUILD;

control_functions! {
    /// Chooses clock and devices; false once the driver was initialised.
    fn simcuda_configure(virtual_clock: bool, devices: u32, unknown_kernels_fail: bool) -> bool {
        let mut state = state::lock();
        if !state.initialized {
            clock::choose(virtual_clock);
            state.devices = devices;
            state.configured = true;
            state.unknown_kernels_fail = unknown_kernels_fail;
        }
        !state.initialized
    }

    fn simcuda_now() -> u64 {
        clock::now()
    }

    fn simcuda_advance(ns: u64) {
        clock::advance(ns);
    }

    fn simcuda_calls(symbol: Text) -> u64 {
        find(symbol).map_or(UNKNOWN, fault::calls)
    }

    fn simcuda_calls_here(symbol: Text) -> u64 {
        find(symbol).map_or(UNKNOWN, fault::calls_here)
    }

    fn simcuda_reset_calls() {
        fault::reset_calls();
    }

    fn simcuda_fail(symbol: Text, nth: u64, times: u64, code: i32) -> bool {
        find(symbol).map(|symbol| fault::order(symbol, nth, times, code)).is_some()
    }

    fn simcuda_clear_failures() {
        fault::clear_orders();
    }

    fn simcuda_set_kernel_ns(kernel: Text, ns: u64) -> bool {
        kernel.get().map(|kernel| state::lock().durations.set(&kernel, ns)).is_ok()
    }

    fn simcuda_set_event_ns(ns: u64) {
        state::lock().durations.set_event(ns);
    }

    fn simcuda_set_call_ns(symbol: Text, ns: u64) -> bool {
        find(symbol).map(|symbol| fault::set_cost(symbol, ns)).is_some()
    }

    fn simcuda_set_resolution_ns(ns: u64) {
        state::lock().durations.set_resolution(ns);
    }

    fn simcuda_set_queue_depth(operations: u32) {
        state::lock().depth = Some(operations);
    }

    fn simcuda_reuse_handles(reuse: bool) {
        crate::handle_table::reuse_handles(reuse);
    }

    fn simcuda_declare_unsafe(symbol: Text, potentially: bool) -> bool {
        find(symbol).map(|symbol| fault::declare_unsafe(symbol, potentially)).is_some()
    }

    fn simcuda_shut_down() {
        fault::shut_down();
    }

    /// Tells `watcher` of every call that begins from now on; none tells nobody.
    fn simcuda_watch(watcher: Option<Watcher>) {
        observer::set(watcher);
    }

    fn simcuda_set_kernel_resources(kernel: Text, registers: u32, static_shared: u32) -> bool {
        let set = |kernel| state::lock().resources.insert(kernel, (registers, static_shared));
        kernel.get().map(set).is_ok()
    }

    fn simcuda_live_events() -> u64 {
        state::lock().events.values().count() as u64
    }

    fn simcuda_live_contexts() -> u64 {
        state::lock().contexts.len() as u64
    }
}

fn find(symbol: Text) -> Option<Symbol> {
    Symbol::find(&symbol.get().ok()?)
}
