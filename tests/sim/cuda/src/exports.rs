//! The C functions of the library: the driver API and the control functions of [`crate::Sim`]. Each
//! one checks its arguments and calls the state's methods; nothing else in the crate has a C name.

mod context;
mod control;
mod device;
mod event;
mod graph;
mod memory;
mod module;
mod stream;
mod unsupported;

/// Defines exported driver functions. Each is counted, delayed and failed by order, and cannot
/// unwind; see [`crate::fault::call`]; whoever watches is told of it. A queue that has grown too
/// long is worked off afterwards.
macro_rules! driver_functions {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),* $(,)?) $body:block)*) => {$(
        $(#[$doc])*
        // SAFETY: the name is the driver API's, and no other library of the process may have it:
        // that is the purpose of this crate.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case, clippy::too_many_arguments)]
        extern "C" fn $name($($arg: $type),*) -> i32 {
            const SYMBOL: $crate::symbols::Symbol =
                $crate::symbols::Symbol::named(stringify!($name));
            let code = $crate::observer::call(SYMBOL, || {
                $crate::fault::call(SYMBOL, || {
                    if $crate::fault::declared_unsafe(SYMBOL) {
                        $crate::state::ready()?.unsafe_call()?;
                    }
                    $body
                })
            });
            $crate::executor::relieve();
            $crate::graph::relieve();
            code
        }
    )*};
}
use driver_functions;
