//! The control functions behind [`crate::Cupti`]: `dlsym` finds them in the loaded library. A text is NUL-terminated; a function
//! whose symbol is unknown answers [`UNKNOWN`] or false.

use crate::abi::Text;
use crate::control::{Order, Stamps};
use crate::layout::Version;
use crate::state::State;
use crate::symbols::Symbol;
use crate::{driver, fault, state};

/// What a count answers for a name that no exported function has.
const UNKNOWN: u64 = u64::MAX;

macro_rules! control_functions {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),*) $(-> $out:ty)? $body:block)*) => {$(
        $(#[$doc])*
        // SAFETY: the prefix makes the name this crate's own.
        #[unsafe(no_mangle)]
        extern "C" fn $name($($arg: $type),*) $(-> $out)? $body
    )*};
}

control_functions! {
    fn simcupti_calls(symbol: Text) -> u64 {
        find(symbol).map_or(UNKNOWN, fault::calls)
    }

    fn simcupti_reset_calls() {
        fault::reset_calls();
    }

    fn simcupti_fail(symbol: Text, nth: u64, times: u64, code: u32) -> bool {
        find(symbol).map(|symbol| fault::order(symbol, nth, times, code)).is_some()
    }

    fn simcupti_clear_failures() {
        fault::clear_orders();
    }

    /// The layout, and what `cuptiGetVersion` answers, 0 for the layout's own number.
    fn simcupti_set_version(version: Version, number: u32) {
        let mut state = state::lock();
        state.version = version;
        state.number = (number > 0).then_some(number);
    }

    fn simcupti_split(records: usize) {
        state::lock().wishes.split = records;
    }

    fn simcupti_set_order(order: Order) {
        state::lock().wishes.order = order;
    }

    fn simcupti_drop_record(kind: u32, nth: u64) {
        state::lock().wishes.drops.push((kind, nth.saturating_sub(1)));
    }

    fn simcupti_spoil_stamps(nth: u64, stamps: Stamps) {
        state::lock().wishes.stamps.push((nth.saturating_sub(1), stamps));
    }

    fn simcupti_launch_by_runtime(by_runtime: bool) {
        state::lock().wishes.runtime_launches = by_runtime;
    }

    /// Everything as it is when the library is loaded, the version excepted. The client's buffers are not given back.
    fn simcupti_reset() {
        fault::clear_orders();
        fault::reset_calls();
        {
            let mut state = state::lock();
            let (version, number) = (state.version, state.number);
            *state = State::new();
            (state.version, state.number) = (version, number);
        }
        // Without a driver nobody was told of anything.
        let _ = driver::watch(None);
    }
}

fn find(symbol: Text) -> Option<Symbol> {
    Symbol::find(symbol.get()?)
}
