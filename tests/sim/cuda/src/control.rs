//! [`Sim`]: the controls of the loaded driver. Everything goes through functions that `dlsym` found
//! in it; must never call the driver code that is linked beside it into the rlib.

use std::ffi::{CString, c_char};

use libloading::os::unix::Library;

use crate::symbols::NAMES;

/// The loaded simulator.
#[derive(Clone, Copy, Debug)]
pub struct Sim(&'static Functions);

macro_rules! functions {
    ($($field:ident = $symbol:literal: $type:ty),* $(,)?) => {
        /// The control functions of the loaded library, and what it was built from.
        #[derive(Debug)]
        pub(crate) struct Functions {
            $($field: $type),*
        }

        impl Functions {
            /// Finds every control function; the error is the loader's.
            pub(crate) fn find(library: &Library) -> Result<Functions, libloading::Error> {
                Ok(Functions {
                    $($field: {
                        // SAFETY: the symbol is one of this crate's own, defined with this type in
                        // `exports::control`.
                        let symbol = unsafe { library.get::<$type>($symbol) }?;
                        *symbol
                    }),*
                })
            }
        }
    };
}

functions! {
    build = b"simcuda_build": &'static u64,
    configure = b"simcuda_configure": extern "C" fn(bool, u32, bool) -> bool,
    now = b"simcuda_now": extern "C" fn() -> u64,
    advance = b"simcuda_advance": extern "C" fn(u64),
    calls = b"simcuda_calls": extern "C" fn(*const c_char) -> u64,
    calls_here = b"simcuda_calls_here": extern "C" fn(*const c_char) -> u64,
    reset_calls = b"simcuda_reset_calls": extern "C" fn(),
    fail = b"simcuda_fail": extern "C" fn(*const c_char, u64, u64, i32) -> bool,
    clear_failures = b"simcuda_clear_failures": extern "C" fn(),
    set_kernel_ns = b"simcuda_set_kernel_ns": extern "C" fn(*const c_char, u64) -> bool,
    set_event_ns = b"simcuda_set_event_ns": extern "C" fn(u64),
    set_call_ns = b"simcuda_set_call_ns": extern "C" fn(*const c_char, u64) -> bool,
    set_resolution_ns = b"simcuda_set_resolution_ns": extern "C" fn(u64),
    set_queue_depth = b"simcuda_set_queue_depth": extern "C" fn(u32),
    reuse_handles = b"simcuda_reuse_handles": extern "C" fn(bool),
    declare_unsafe = b"simcuda_declare_unsafe": extern "C" fn(*const c_char, bool) -> bool,
    shut_down = b"simcuda_shut_down": extern "C" fn(),
    set_kernel_resources = b"simcuda_set_kernel_resources":
        extern "C" fn(*const c_char, u32, u32) -> bool,
    live_events = b"simcuda_live_events": extern "C" fn() -> u64,
    live_contexts = b"simcuda_live_contexts": extern "C" fn() -> u64,
}

impl Functions {
    /// Whether both were found in one loaded library.
    pub(crate) fn same_library(&self, other: &Functions) -> bool {
        std::ptr::fn_addr_eq(self.now, other.now)
    }

    /// What the library was built from, a number that stands for its sources.
    pub(crate) fn build(&self) -> u64 {
        *self.build
    }
}

impl Sim {
    /// Controls through `functions`, which stay loaded for good.
    pub(crate) fn new(functions: Functions) -> Sim {
        Sim(Box::leak(Box::new(functions)))
    }

    /// Chooses clock and devices; false once the driver was initialised.
    pub(crate) fn configure(
        self,
        virtual_clock: bool,
        devices: u32,
        unknown_kernels_fail: bool,
    ) -> bool {
        (self.0.configure)(virtual_clock, devices, unknown_kernels_fail)
    }

    /// The simulator's "now" in ns, for gpuprof's clock to share.
    pub fn clock(self) -> extern "C" fn() -> u64 {
        self.0.now
    }

    /// Now, in ns. The virtual clock starts at 1,000,000,000.
    pub fn now(self) -> u64 {
        (self.0.now)()
    }

    /// Moves the virtual clock `ns` on. Without effect under the host's clock.
    pub fn advance(self, ns: u64) {
        (self.0.advance)(ns);
    }

    /// Calls of the driver function `symbol` since the library was loaded or [`Sim::reset_calls`].
    ///
    /// # Panics
    /// Where the simulator has no function of that name; so do the others that take a `symbol`.
    pub fn calls(self, symbol: &str) -> u64 {
        counted(symbol, (self.0.calls)(text(symbol).as_ptr()))
    }

    /// The same, of calls that the calling thread made.
    ///
    /// # Panics
    /// As [`Sim::calls`].
    pub fn calls_here(self, symbol: &str) -> u64 {
        counted(symbol, (self.0.calls_here)(text(symbol).as_ptr()))
    }

    /// Every driver function that was called, with its number of calls, by name.
    pub fn calls_by_symbol(self) -> Vec<(String, u64)> {
        let mut calls: Vec<_> = NAMES
            .iter()
            .map(|name| (name.to_string(), self.calls(name)))
            .collect();
        calls.retain(|(_, count)| *count > 0);
        calls.sort();
        calls
    }

    /// Sets all counts to 0, those of single threads too.
    pub fn reset_calls(self) {
        (self.0.reset_calls)();
    }

    /// Makes the `nth` call of `symbol` from now (1-based), and the `times - 1` after it, answer
    /// the `CUresult` `code` and do nothing else.
    ///
    /// # Panics
    /// As [`Sim::calls`].
    pub fn fail(self, symbol: &str, nth: u64, times: u64, code: i32) {
        known(
            symbol,
            (self.0.fail)(text(symbol).as_ptr(), nth, times, code),
        );
    }

    /// Forgets every order to fail.
    pub fn clear_failures(self) {
        (self.0.clear_failures)();
    }

    /// The modelled duration in ns of every later launch of `kernel`; "" means every kernel without
    /// one of its own, "memcpy" and "memset" mean copies and memsets.
    ///
    /// Unless set, a kernel takes `GPUPROF_SIM_KERNEL_NS`, else 10,000 ns under the virtual clock
    /// and what a roofline says under the host's; copies and memsets take 0 ns and the roofline.
    ///
    /// # Panics
    /// Where `kernel` holds a NUL.
    pub fn set_kernel_ns(self, kernel: &str, ns: u64) {
        (self.0.set_kernel_ns)(text(kernel).as_ptr(), ns);
    }

    /// The registers of a thread and the static shared memory of a block, in bytes, that `kernel`
    /// says it has. Unless set: 32 and none, as nothing is compiled.
    ///
    /// # Panics
    /// Where `kernel` holds a NUL.
    pub fn set_kernel_resources(self, kernel: &str, registers: u32, static_shared: u32) {
        (self.0.set_kernel_resources)(text(kernel).as_ptr(), registers, static_shared);
    }

    /// The stream time in ns that one event record takes. Unless set: 0 under the virtual clock,
    /// 1,500 under the host's.
    pub fn set_event_ns(self, ns: u64) {
        (self.0.set_event_ns)(ns);
    }

    /// How far a call of `symbol` advances the virtual clock, in ns, before it does its work.
    /// Unless set: 0.
    ///
    /// # Panics
    /// As [`Sim::calls`].
    pub fn set_call_ns(self, symbol: &str, ns: u64) {
        known(symbol, (self.0.set_call_ns)(text(symbol).as_ptr(), ns));
    }

    /// The step in ns that elapsed times are rounded to; 0 means exact ones. Unless set: 0 under
    /// the virtual clock, 500 under the host's. The result is a float32 of milliseconds in any
    /// case.
    pub fn set_resolution_ns(self, ns: u64) {
        (self.0.set_resolution_ns)(ns);
    }

    /// How many operations a stream takes behind the one that runs; the next call waits, by which
    /// the virtual clock moves to where there is room. `u32::MAX` means no end. Unless set: no end
    /// under the virtual clock, 1,021 under the host's.
    pub fn set_queue_depth(self, operations: u32) {
        (self.0.set_queue_depth)(operations);
    }

    /// Gives the handles of destroyed objects out again, as a real driver does with its addresses:
    /// who knows things by handle alone is found out. Unless set, a handle is given out once, so
    /// that a use after the end is found out.
    pub fn reuse_handles(self, reuse: bool) {
        (self.0.reuse_handles)(reuse);
    }

    /// Declares `symbol` potentially unsafe during a capture, or takes that back: for functions of
    /// which documents do not say it. A program that is right either way passes either way.
    ///
    /// # Panics
    /// As [`Sim::calls`].
    pub fn declare_unsafe(self, symbol: &str, potentially: bool) {
        known(
            symbol,
            (self.0.declare_unsafe)(text(symbol).as_ptr(), potentially),
        );
    }

    /// Tears the driver down, as it does itself at exit: from now on every call answers
    /// DEINITIALIZED.
    pub fn shut_down(self) {
        (self.0.shut_down)();
    }

    /// Events that exist now.
    pub fn live_events(self) -> u64 {
        (self.0.live_events)()
    }

    /// Contexts that exist now: primary ones while they are retained, and created ones.
    pub fn live_contexts(self) -> u64 {
        (self.0.live_contexts)()
    }
}

fn text(symbol: &str) -> CString {
    match CString::new(symbol) {
        Ok(text) => text,
        Err(_) => panic!("{symbol:?} holds a NUL"),
    }
}

fn known(symbol: &str, known: bool) {
    assert!(known, "the simulated driver has no function `{symbol}`");
}

fn counted(symbol: &str, count: u64) -> u64 {
    known(symbol, count != u64::MAX);
    count
}
