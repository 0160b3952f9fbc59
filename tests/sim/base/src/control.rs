//! What the controls of both simulated libraries have: functions that `dlsym` finds in the loaded
//! library, and functions that are called by their names.

use std::ffi::CString;

use crate::cbid;

/// Exports control functions by their names.
#[macro_export]
macro_rules! control_functions {
    ($(
        $(#[$doc:meta])*
        fn $name:ident($($arg:ident: $type:ty),*) $(-> $out:ty)? $body:block
    )*) => {$(
        $(#[$doc])*
        // SAFETY: the prefix makes the name unique to its crate.
        #[unsafe(no_mangle)]
        extern "C" fn $name($($arg: $type),*) $(-> $out)? $body
    )*};
}

/// Declares `Functions`, the control functions of a loaded library.
#[macro_export]
macro_rules! functions {
    ($($field:ident = $symbol:literal: $type:ty),* $(,)?) => {
        /// The control functions of the loaded library.
        #[derive(Debug)]
        pub(crate) struct Functions {
            $($field: $type),*
        }

        impl Functions {
            pub(crate) fn find(
                library: &libloading::os::unix::Library,
            ) -> Result<Functions, libloading::Error> {
                Ok(Functions {
                    $($field: {
                        // SAFETY: `exports::control` defines the symbol with this type.
                        let symbol = unsafe { library.get::<$type>($symbol) }?;
                        *symbol
                    }),*
                })
            }
        }
    };
}

/// A text for a control function.
///
/// # Panics
/// If it contains a NUL.
pub fn c_text(text: &str) -> CString {
    match CString::new(text) {
        Ok(text) => text,
        Err(_) => panic!("{text:?} contains a NUL"),
    }
}

/// The functions of `names` that were called, with their numbers of calls, sorted by name.
pub fn calls_by_symbol(names: &[&str], calls: impl Fn(&str) -> u64) -> Vec<(String, u64)> {
    let counts = names.iter().map(|name| ((*name).to_owned(), calls(name)));
    let mut called: Vec<_> = counts.filter(|(_, count)| *count > 0).collect();
    called.sort();
    called
}

/// The index of `name` in `names`, at compile time. A name that is not listed does not compile.
pub const fn position(names: &[&str], name: &str) -> usize {
    let mut index = 0;
    while index < names.len() {
        if cbid::same(names[index].as_bytes(), name.as_bytes()) {
            return index;
        }
        index += 1;
    }
    panic!("function_names::NAMES lacks an exported function")
}
