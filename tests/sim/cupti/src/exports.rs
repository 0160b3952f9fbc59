//! The C functions of the library: CUPTI's, and the control functions of [`crate::Cupti`]. Each
//! checks its arguments and calls the state's methods. Nothing else in the crate has a C name.

mod activity;
mod control;
mod external;
mod modules;
mod pc_sampling;
mod pm_sampling;
mod profiler_host;
mod queries;
mod subscriber;

/// Defines exported functions of CUPTI. Each is counted, fails on request, and cannot unwind; see
/// [`crate::call_wrapper::call`].
macro_rules! cupti_functions {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),* $(,)?) $body:block)*) => {$(
        $(#[$doc])*
        // SAFETY: the name is CUPTI's. Replacing CUPTI is the purpose of this crate, so no other
        // library of the process may have it.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case)]
        extern "C" fn $name($($arg: $type),*) -> u32 {
            use $crate::function_names::Symbol;
            const SYMBOL: Symbol = Symbol::named(stringify!($name));
            $crate::call_wrapper::call(SYMBOL, || $body)
        }
    )*};
}
use cupti_functions;
