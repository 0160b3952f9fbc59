//! The control functions that [`crate::Sim`] finds in the loaded library. If a symbol or stream is
//! unknown, they return [`UNKNOWN`] or false.

use simbase::activity::{FoundContext, Observer};
use simbase::control_functions;

use crate::abi::{CText, Handle};
use crate::function_names::Symbol;
use crate::objects::KernelResources;
use crate::{call_wrapper, clock, load, observer, state};

/// The number of calls of an unknown function, and the time on an unknown stream.
const UNKNOWN: u64 = u64::MAX;

/// A number that identifies the sources of this library.
// SAFETY: the prefix makes the name unique to this crate.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
static simcuda_build: u64 = load::BUILD;

control_functions! {
    /// Returns false after `cuInit`.
    fn simcuda_configure(virtual_clock: bool, devices: u32, unknown_kernels_fail: bool) -> bool {
        let mut state = state::lock();
        if !state.is_initialized {
            clock::choose(virtual_clock);
            state.device_count = devices;
            state.is_configured = true;
            state.unknown_kernels_fail = unknown_kernels_fail;
        }
        !state.is_initialized
    }

    fn simcuda_now() -> u64 {
        clock::now()
    }

    fn simcuda_advance(ns: u64) {
        clock::advance(ns);
    }

    /// [`UNKNOWN`] also without a current context.
    fn simcuda_next_start(stream: Handle) -> u64 {
        let mut state = state::lock();
        let start = state.resolve_stream(stream).and_then(|stream| state.next_start(stream));
        start.unwrap_or(UNKNOWN)
    }

    fn simcuda_calls(symbol: CText) -> u64 {
        find(symbol).map_or(UNKNOWN, call_wrapper::calls)
    }

    fn simcuda_calls_here(symbol: CText) -> u64 {
        find(symbol).map_or(UNKNOWN, call_wrapper::calls_here)
    }

    fn simcuda_reset_calls() {
        call_wrapper::reset_calls();
    }

    fn simcuda_fail(symbol: CText, nth: u64, times: u64, code: i32) -> bool {
        find(symbol).map(|symbol| call_wrapper::FAILURES.add(symbol.0, nth, times, code)).is_some()
    }

    fn simcuda_clear_failures() {
        call_wrapper::FAILURES.clear();
    }

    fn simcuda_set_kernel_ns(kernel: CText, ns: u64) -> bool {
        kernel.get().map(|kernel| state::lock().durations.set(&kernel, ns)).is_ok()
    }

    fn simcuda_set_event_ns(ns: u64) {
        state::lock().durations.set_event(ns);
    }

    fn simcuda_set_event_ns_under_load(ns: u64) {
        state::lock().durations.set_event_under_load(ns);
    }

    fn simcuda_set_call_ns(symbol: CText, ns: u64) -> bool {
        find(symbol).map(|symbol| call_wrapper::set_call_ns(symbol, ns)).is_some()
    }

    fn simcuda_set_resolution_ns(ns: u64) {
        state::lock().durations.set_resolution(ns);
    }

    fn simcuda_set_queue_depth(operations: u32) {
        state::lock().stream_depth = Some(operations);
    }

    fn simcuda_reuse_handles(reuse: bool) {
        crate::handle_table::reuse_handles(reuse);
    }

    fn simcuda_require_context_for_records(require: bool) {
        state::lock().records_need_context = require;
    }

    fn simcuda_forbid_during_capture(symbol: CText, is_unsafe: bool) -> bool {
        find(symbol).map(|symbol| call_wrapper::forbid_during_capture(symbol, is_unsafe)).is_some()
    }

    fn simcuda_shut_down() {
        call_wrapper::shut_down();
    }

    /// Reports every call that begins from now on to `observer`.
    fn simcuda_set_observer(observer: Option<Observer>) {
        observer::set(observer);
    }

    /// The context of a handle, whose number is 0 if it does not exist.
    fn simcuda_find_context(context: Handle) -> FoundContext {
        let state = state::lock();
        let found = state.context(context).ok();
        FoundContext {
            number: found.map_or(0, |context| context.id as u32),
            device: found.map_or(0, |context| context.device),
        }
    }

    fn simcuda_set_kernel_resources(
        kernel: CText,
        registers: u32,
        static_shared: u32,
        local: u32
    ) -> bool {
        let resources = KernelResources { registers, static_shared, local };
        let set = |kernel| state::lock().resources.insert(kernel, resources);
        kernel.get().map(set).is_ok()
    }

    fn simcuda_live_events() -> u64 {
        state::lock().events.values().count() as u64
    }

    fn simcuda_live_contexts() -> u64 {
        state::lock().contexts.len() as u64
    }
}

fn find(symbol: CText) -> Option<Symbol> {
    Symbol::find(&symbol.get().ok()?)
}
