//! The control functions behind [`crate::Cupti`], which finds them in the loaded library by
//! `dlsym`. Texts are NUL-terminated. A function returns [`UNKNOWN`] or false if its symbol is
//! unknown.

use simbase::control_functions;

use crate::abi::{Array, Text};
use crate::control::{InvalidStamps, Order};
use crate::counter_model::KernelCounters;
use crate::cubin_image::{GivenInstruction, StoredInstruction};
use crate::function_names::Symbol;
use crate::record_sizes::Version;
use crate::stall_model::Stall;
use crate::state::State;
use crate::{call_wrapper, driver, state};

/// The count of a function that is not exported.
const UNKNOWN: u64 = u64::MAX;

control_functions! {
    fn simcupti_calls(symbol: Text) -> u64 {
        find(symbol).map_or(UNKNOWN, call_wrapper::calls)
    }

    fn simcupti_reset_calls() {
        call_wrapper::reset_calls();
    }

    fn simcupti_fail(symbol: Text, nth: u64, times: u64, code: u32) -> bool {
        find(symbol).map(|symbol| call_wrapper::FAILURES.add(symbol.0, nth, times, code)).is_some()
    }

    fn simcupti_delay(symbol: Text, ms: u64) -> bool {
        find(symbol).map(|symbol| call_wrapper::delay(symbol, ms)).is_some()
    }

    fn simcupti_clear_failures() {
        call_wrapper::FAILURES.clear();
    }

    /// The layout, and the result of `cuptiGetVersion`; 0 for the layout's own number.
    fn simcupti_set_version(version: Version, number: u32) {
        let mut state = state::lock();
        state.version = version;
        state.number = (number > 0).then_some(number);
    }

    fn simcupti_split(records: usize) {
        state::lock().overrides.split = records;
    }

    fn simcupti_set_order(order: Order) {
        state::lock().overrides.order = order;
    }

    fn simcupti_drop_record(kind: u32, nth: u64) {
        state::lock().overrides.drops.push((kind, nth.saturating_sub(1)));
    }

    fn simcupti_corrupt_stamps(nth: u64, stamps: InvalidStamps) {
        state::lock().overrides.stamps.push((nth.saturating_sub(1), stamps));
    }

    fn simcupti_launch_by_runtime(by_runtime: bool) {
        state::lock().overrides.runtime_launches = by_runtime;
    }

    fn simcupti_launch_per_thread(per_thread: bool) {
        state::lock().overrides.per_thread_launches = per_thread;
    }

    fn simcupti_split_copies(split: bool) {
        state::lock().overrides.split_copies = split;
    }

    fn simcupti_set_wait_us(us: u64) {
        state::lock().overrides.wait_us = us;
    }

    fn simcupti_set_correlation(last: u32) {
        state::lock().correlation = last;
    }

    /// False for a name that is not UTF-8.
    fn simcupti_set_counters(kernel: Text, counters: &KernelCounters) -> bool {
        let Some(kernel) = kernel.get() else {
            return false;
        };
        state::lock().sampling.model.set(kernel, *counters);
        true
    }

    /// False for a name that is not UTF-8.
    fn simcupti_set_stalls(kernel: Text, stalls: Array<Stall>) -> bool {
        let Some(kernel) = kernel.get() else {
            return false;
        };
        state::lock().pc_sampling.models.set(kernel, stalls.get());
        true
    }

    fn simcupti_set_dropped_samples(samples: u64) {
        state::lock().pc_sampling.dropped += samples;
    }

    fn simcupti_set_other_samples(samples: u64) {
        state::lock().pc_sampling.other += samples;
    }

    fn simcupti_fill_hardware_buffer() {
        state::lock().pc_sampling.is_full = true;
    }

    /// False for a name that is not UTF-8.
    fn simcupti_set_code(kernel: Text, code: Array<GivenInstruction>) -> bool {
        let Some(kernel) = kernel.get() else {
            return false;
        };
        let code = code.get().iter().map(StoredInstruction::from).collect();
        state::lock().modules.set_code(kernel, code);
        true
    }

    fn simcupti_set_metrics_per_pass(metrics: usize) {
        state::lock().hosts.metrics_per_pass = Some(metrics);
    }

    fn simcupti_set_enable_ns(ns: u64) {
        state::lock().sampling.enable_ns = ns;
    }

    /// 0 for a name that is not UTF-8.
    fn simcupti_enables_by(thread: Text) -> u64 {
        let enables = |name| state::lock().sampling.enabled_by.get(name).copied();
        thread.get().and_then(enables).unwrap_or(0)
    }

    fn simcupti_set_other_process(bytes_per_ns: f64) {
        state::lock().sampling.model.other_process = bytes_per_ns;
    }

    /// Resets everything except the version. The client's buffers are not returned.
    fn simcupti_reset() {
        call_wrapper::FAILURES.clear();
        call_wrapper::reset_calls();
        {
            let mut state = state::lock();
            let (version, number) = (state.version, state.number);
            *state = State::new();
            (state.version, state.number) = (version, number);
        }
        // Fails without a driver, where nothing was watched.
        let _ = driver::set_observer(None);
    }
}

fn find(symbol: Text) -> Option<Symbol> {
    Symbol::find(symbol.get()?)
}
