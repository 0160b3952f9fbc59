//! The C functions of the library: the driver API, and the control functions of [`crate::Sim`].
//! Each one checks its arguments and calls methods of the state.

mod context;
mod control;
mod device;
mod event;
mod graph;
mod memory;
mod module;
mod stream;
mod unsupported;

/// Defines exported driver functions. Each call is reported to the observer, counted, delayed and
/// failed on request, and cannot unwind; see [`crate::call_wrapper::call`]. After the call, a full
/// queue of deferred operations is drained.
macro_rules! driver_functions {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),* $(,)?) $body:block)*) => {$(
        $(#[$doc])*
        // SAFETY: the name is the driver API's. This library replaces the one that has it.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case, clippy::too_many_arguments)]
        extern "C" fn $name($($arg: $type),*) -> i32 {
            const SYMBOL: $crate::function_names::Symbol =
                $crate::function_names::Symbol::named(stringify!($name));
            let arguments = $crate::observer::observed_arguments(SYMBOL, &[$(&$arg),*]);
            let code = $crate::observer::call(SYMBOL, arguments, || {
                $crate::call_wrapper::call(SYMBOL, || {
                    if $crate::call_wrapper::declared_unsafe(SYMBOL) {
                        $crate::state::lock_initialized()?.check_unsafe_call()?;
                    }
                    $body
                })
            });
            $crate::executor::drain_if_full();
            $crate::user_objects::run_expired_destructors();
            code
        }
    )*};
}
use driver_functions;
