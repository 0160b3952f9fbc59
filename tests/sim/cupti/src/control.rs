//! [`Cupti`]: the controls of the loaded library. Everything goes through functions that `dlsym` found in it; must never call the
//! copy of its code that is linked beside it into the rlib.

use std::ffi::{CString, c_char};

use libloading::os::unix::Library;

use crate::layout::Version;
use crate::symbols::NAMES;

/// The loaded simulated libcupti.
#[derive(Clone, Copy, Debug)]
pub struct Cupti(&'static Functions);

/// In which order the records of a buffer stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum Order {
    /// As seen on an H200, call by call: external ids, what the device does for the call, the call.
    #[default]
    Measured,
    /// All of what the device does before all external ids and calls.
    ActivitiesFirst,
    /// All external ids and calls before all of what the device does.
    ActivitiesLast,
    /// Everything back to front.
    Reversed,
    /// As measured, but the kernels' places are filled last launched first.
    KernelsReversed,
}

/// What is wrong with the stamps of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Stamps {
    /// Start and end are 0.
    Zero,
    /// The end is before the start: the two have changed places, and are at least 1 ns apart.
    Reversed,
}

macro_rules! functions {
    ($($field:ident = $symbol:literal: $type:ty),* $(,)?) => {
        /// The control functions of the loaded library.
        #[derive(Debug)]
        pub(crate) struct Functions {
            $($field: $type),*
        }

        impl Functions {
            /// Finds every control function; the error is the loader's.
            pub(crate) fn find(library: &Library) -> Result<Functions, libloading::Error> {
                Ok(Functions {
                    $($field: {
                        // SAFETY: the symbol is one of this crate's own, defined with this type in `exports::control`.
                        let symbol = unsafe { library.get::<$type>($symbol) }?;
                        *symbol
                    }),*
                })
            }
        }
    };
}

functions! {
    calls = b"simcupti_calls": extern "C" fn(*const c_char) -> u64,
    reset_calls = b"simcupti_reset_calls": extern "C" fn(),
    fail = b"simcupti_fail": extern "C" fn(*const c_char, u64, u64, u32) -> bool,
    clear_failures = b"simcupti_clear_failures": extern "C" fn(),
    set_version = b"simcupti_set_version": extern "C" fn(Version, u32),
    split = b"simcupti_split": extern "C" fn(usize),
    set_order = b"simcupti_set_order": extern "C" fn(Order),
    drop_record = b"simcupti_drop_record": extern "C" fn(u32, u64),
    spoil_stamps = b"simcupti_spoil_stamps": extern "C" fn(u64, Stamps),
    launch_by_runtime = b"simcupti_launch_by_runtime": extern "C" fn(bool),
    reset = b"simcupti_reset": extern "C" fn(),
}

impl Cupti {
    /// Controls through `functions`, which stay loaded for good.
    pub(crate) fn new(functions: Functions) -> Cupti {
        Cupti(Box::leak(Box::new(functions)))
    }

    /// Calls of the CUPTI function `symbol` since the library was loaded, or [`Cupti::reset_calls`] or [`Cupti::reset`].
    ///
    /// # Panics
    /// Where the library has no function of that name; so do the others that take a `symbol`.
    pub fn calls(self, symbol: &str) -> u64 {
        let count = (self.0.calls)(text(symbol).as_ptr());
        known(symbol, count != u64::MAX);
        count
    }

    /// Every CUPTI function that was called, with its number of calls, by name. Empty: the program has made no CUPTI call.
    pub fn calls_by_symbol(self) -> Vec<(String, u64)> {
        let mut calls: Vec<_> = NAMES
            .iter()
            .map(|name| (name.to_string(), self.calls(name)))
            .collect();
        calls.retain(|(_, count)| *count > 0);
        calls.sort();
        calls
    }

    /// Sets all counts to 0.
    pub fn reset_calls(self) {
        (self.0.reset_calls)();
    }

    /// Makes the `nth` call of `symbol` from now (1-based), and the `times - 1` after it, answer the `CUptiResult` `code` and do
    /// nothing else. A refusal to subscribe for good is `fail("cuptiSubscribe", 1, u64::MAX, 39)`.
    ///
    /// # Panics
    /// As [`Cupti::calls`].
    pub fn fail(self, symbol: &str, nth: u64, times: u64, code: u32) {
        known(
            symbol,
            (self.0.fail)(text(symbol).as_ptr(), nth, times, code),
        );
    }

    /// Forgets every order to fail.
    pub fn clear_failures(self) {
        (self.0.clear_failures)();
    }

    /// Records are laid out as `version` does from now on, and `cuptiGetVersion` answers its number. Call it while the library
    /// holds no record.
    pub fn set_version(self, version: Version) {
        (self.0.set_version)(version, 0);
    }

    /// The same, but `cuptiGetVersion` answers `number`, which is not 0.
    pub fn set_version_number(self, version: Version, number: u32) {
        (self.0.set_version)(version, number);
    }

    /// A buffer that the client gives from now on is full after so many records; 0 means when it is full.
    pub fn split(self, records: usize) {
        (self.0.split)(records);
    }

    /// The order of the records in the buffers that are handed back from now on.
    pub fn set_order(self, order: Order) {
        (self.0.set_order)(order);
    }

    /// Drops the `nth` record from now (1-based) of this `CUpti_ActivityKind`, 0 for any, and counts it as dropped.
    pub fn drop_record(self, kind: u32, nth: u64) {
        (self.0.drop_record)(kind, nth);
    }

    /// Gives the `nth` kernel from now (1-based) that is recorded wrong stamps.
    pub fn spoil_stamps(self, nth: u64, stamps: Stamps) {
        (self.0.spoil_stamps)(nth, stamps);
    }

    /// Launches appear as calls of the runtime from now on (`cudaLaunchKernel_v7000`, number 211), and not as calls of the driver:
    /// what a program sees that launches through cuBLAS.
    pub fn launch_by_runtime(self, by_runtime: bool) {
        (self.0.launch_by_runtime)(by_runtime);
    }

    /// Puts everything back to what it is when the library is loaded, the version excepted: no subscriber, nothing enabled, no
    /// external ids, no orders, counts at 0. Buffers and what they hold are forgotten. For tests that share a process; no other
    /// thread may be in a call of the driver.
    pub fn reset(self) {
        (self.0.reset)();
    }
}

fn text(symbol: &str) -> CString {
    match CString::new(symbol) {
        Ok(text) => text,
        Err(_) => panic!("{symbol:?} holds a NUL"),
    }
}

fn known(symbol: &str, known: bool) {
    assert!(known, "the simulated libcupti has no function `{symbol}`");
}
