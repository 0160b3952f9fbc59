//! How the functions of CUPTI's profilers are declared, which take one struct each.

/// Parameters of one function. They begin with the number of bytes that CUPTI is to read, without
/// the padding at the end, and a pointer that must be null.
macro_rules! parameters {
    ($($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty,)* })*) => {$(
        $(#[$doc])*
        #[repr(C)]
        pub(super) struct $name {
            pub(super) bytes: usize,
            pub(super) private: *mut ::std::ffi::c_void,
            $(pub(super) $field: $type,)*
        }

        impl $name {
            const BYTES: usize = {
                let ends = [
                    ::std::mem::offset_of!(Self, private) + size_of::<*mut ::std::ffi::c_void>(),
                    $(::std::mem::offset_of!(Self, $field) + size_of::<$type>(),)*
                ];
                match ends.last() {
                    Some(end) => *end,
                    None => 0,
                }
            };
        }

        impl Default for $name {
            fn default() -> Self {
                // SAFETY: all fields are integers and raw pointers, for which zero is a value.
                let zero: Self = unsafe { std::mem::zeroed() };
                Self { bytes: Self::BYTES, ..zero }
            }
        }
    )*};
}

/// A struct of functions that take [`parameters!`], with a method for each, and what else it has
/// from `CuptiLibrary`.
macro_rules! functions {
    (
        $struct:ident $({ $kept:ident: $kept_type:ty })?;
        $($field:ident = $symbol:literal ($type:ty),)*
    ) => {
        pub(super) struct $struct {
            $(pub(super) $kept: $kept_type,)?
            $($field: unsafe extern "C" fn(
                *mut $type,
            ) -> $crate::cupti::collect::bindings::CuptiResult,)*
        }

        impl $struct {
            fn load(cupti: &$crate::cupti::collect::library::CuptiLibrary) -> Option<Self> {
                Some(Self {
                    $($kept: cupti.$kept,)?
                    // SAFETY: each takes its parameters as the headers of CUPTI declare them.
                    $($field: unsafe { cupti.symbol($symbol) }?,)*
                })
            }

            $(
                /// Calls the function of this name.
                pub(super) fn $field(
                    &self,
                    parameters: &mut $type,
                ) -> Result<(), $crate::cupti::collect::library::CallError> {
                    // SAFETY: the parameters are initialized, and what they point to lives until
                    // the function returns.
                    let status = unsafe { (self.$field)(&raw mut *parameters) };
                    match status {
                        $crate::cupti::collect::bindings::SUCCESS => Ok(()),
                        status => Err($crate::cupti::collect::library::CallError {
                            call: $symbol,
                            status,
                        }),
                    }
                }
            )*
        }
    };
}

pub(super) use {functions, parameters};
