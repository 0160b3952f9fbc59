//! [`Sim`] controls the loaded driver through functions that `dlsym` finds in it. It never calls
//! the copy of the driver's code that is linked into the rlib.

use std::ffi::c_char;

use simbase::control::{self, c_text};
use simbase::functions;

use crate::function_names::NAMES;

/// The loaded simulated driver.
#[derive(Clone, Copy, Debug)]
pub struct Sim(&'static Functions);

functions! {
    build = b"simcuda_build": &'static u64,
    configure = b"simcuda_configure": extern "C" fn(bool, u32, bool) -> bool,
    now = b"simcuda_now": extern "C" fn() -> u64,
    advance = b"simcuda_advance": extern "C" fn(u64),
    next_start = b"simcuda_next_start": extern "C" fn(u64) -> u64,
    calls = b"simcuda_calls": extern "C" fn(*const c_char) -> u64,
    calls_here = b"simcuda_calls_here": extern "C" fn(*const c_char) -> u64,
    reset_calls = b"simcuda_reset_calls": extern "C" fn(),
    fail = b"simcuda_fail": extern "C" fn(*const c_char, u64, u64, i32) -> bool,
    clear_failures = b"simcuda_clear_failures": extern "C" fn(),
    set_kernel_ns = b"simcuda_set_kernel_ns": extern "C" fn(*const c_char, u64) -> bool,
    set_event_ns = b"simcuda_set_event_ns": extern "C" fn(u64),
    set_event_ns_under_load = b"simcuda_set_event_ns_under_load": extern "C" fn(u64),
    set_call_ns = b"simcuda_set_call_ns": extern "C" fn(*const c_char, u64) -> bool,
    set_resolution_ns = b"simcuda_set_resolution_ns": extern "C" fn(u64),
    set_queue_depth = b"simcuda_set_queue_depth": extern "C" fn(u32),
    reuse_handles = b"simcuda_reuse_handles": extern "C" fn(bool),
    require_context_for_records = b"simcuda_require_context_for_records": extern "C" fn(bool),
    forbid_during_capture = b"simcuda_forbid_during_capture":
        extern "C" fn(*const c_char, bool) -> bool,
    shut_down = b"simcuda_shut_down": extern "C" fn(),
    set_kernel_resources = b"simcuda_set_kernel_resources":
        extern "C" fn(*const c_char, u32, u32, u32) -> bool,
    live_events = b"simcuda_live_events": extern "C" fn() -> u64,
    live_contexts = b"simcuda_live_contexts": extern "C" fn() -> u64,
}

impl Functions {
    /// Whether both are of one loaded library.
    pub(crate) fn same_library(&self, other: &Functions) -> bool {
        std::ptr::fn_addr_eq(self.now, other.now)
    }

    /// A number that identifies the sources of the library.
    pub(crate) fn build(&self) -> u64 {
        *self.build
    }
}

impl Sim {
    /// `functions` are of a library that is never unloaded.
    pub(crate) fn new(functions: Functions) -> Sim {
        Sim(Box::leak(Box::new(functions)))
    }

    /// Sets the clock, the number of devices, and what an unknown kernel does; returns false after
    /// `cuInit`.
    pub(crate) fn configure(
        self,
        virtual_clock: bool,
        devices: u32,
        unknown_kernels_fail: bool,
    ) -> bool {
        (self.0.configure)(virtual_clock, devices, unknown_kernels_fail)
    }

    /// The simulator's clock in ns, which gpuprof's clock can share.
    pub fn clock(self) -> extern "C" fn() -> u64 {
        self.0.now
    }

    /// The present time in ns. The virtual clock starts at 1,000,000,000.
    pub fn now(self) -> u64 {
        (self.0.now)()
    }

    /// Advances the virtual clock by `ns`; has no effect under the host's clock.
    pub fn advance(self, ns: u64) {
        (self.0.advance)(ns);
    }

    /// When an operation that is queued now on the stream of this handle starts, such as an event
    /// record. 0x0, 0x1 and 0x2 are streams of the thread's current context.
    ///
    /// # Panics
    /// If there is no such stream.
    pub fn next_start(self, stream: u64) -> u64 {
        let start = (self.0.next_start)(stream);
        assert_ne!(start, u64::MAX, "no stream {stream:#x}");
        start
    }

    /// The calls of the driver function `symbol` since the library was loaded or
    /// [`Sim::reset_calls`].
    ///
    /// # Panics
    /// If the simulator has no function of that name.
    pub fn calls(self, symbol: &str) -> u64 {
        checked_count(symbol, (self.0.calls)(c_text(symbol).as_ptr()))
    }

    /// The same for the calling thread.
    ///
    /// # Panics
    /// If the simulator has no function of that name.
    pub fn calls_here(self, symbol: &str) -> u64 {
        checked_count(symbol, (self.0.calls_here)(c_text(symbol).as_ptr()))
    }

    /// The functions that were called, with their numbers of calls, sorted by name.
    pub fn calls_by_symbol(self) -> Vec<(String, u64)> {
        control::calls_by_symbol(NAMES, |name| self.calls(name))
    }

    /// Sets all counts to 0, including those of threads.
    pub fn reset_calls(self) {
        (self.0.reset_calls)();
    }

    /// Makes the `nth` call of `symbol` from now (1-based), and the `times - 1` after it, return
    /// the `CUresult` `code` and do nothing else.
    ///
    /// # Panics
    /// If the simulator has no function of that name.
    pub fn fail(self, symbol: &str, nth: u64, times: u64, code: i32) {
        assert_exists(
            symbol,
            (self.0.fail)(c_text(symbol).as_ptr(), nth, times, code),
        );
    }

    /// Removes all requested failures.
    pub fn clear_failures(self) {
        (self.0.clear_failures)();
    }

    /// Sets the modelled duration in ns of every later launch of `kernel`; "" stands for every
    /// kernel without a duration of its own, "memcpy" and "memset" for copies and memsets.
    ///
    /// By default a kernel takes `GPUPROF_SIM_KERNEL_NS`, else 10,000 ns under the virtual clock
    /// and the time by a roofline under the host's; copies and memsets take 0 ns and the time by
    /// the roofline.
    ///
    /// # Panics
    /// If `kernel` contains a NUL.
    pub fn set_kernel_ns(self, kernel: &str, ns: u64) {
        (self.0.set_kernel_ns)(c_text(kernel).as_ptr(), ns);
    }

    /// Sets the registers of a thread, the static shared memory of a block and the local memory of
    /// a thread, in bytes, that the driver reports for `kernel`. By default 32, 0 and 0, as nothing
    /// is compiled.
    ///
    /// # Panics
    /// If `kernel` contains a NUL.
    pub fn set_kernel_resources(
        self,
        kernel: &str,
        registers: u32,
        static_shared: u32,
        local: u32,
    ) {
        let kernel = c_text(kernel);
        (self.0.set_kernel_resources)(kernel.as_ptr(), registers, static_shared, local);
    }

    /// Sets the stream time in ns of an event record. By default 0 under the virtual clock, 1,500
    /// under the host's.
    pub fn set_event_ns(self, ns: u64) {
        (self.0.set_event_ns)(ns);
    }

    /// Sets the stream time in ns of an event record while another stream of the device has
    /// unfinished work: on an H200 that trained, empty event pairs read 10 to 14 µs, and 1.25 µs on
    /// the idle device. By default the time that an event record takes on an idle device.
    pub fn set_event_ns_under_load(self, ns: u64) {
        (self.0.set_event_ns_under_load)(ns);
    }

    /// Sets how far a call of `symbol` advances the virtual clock, in ns, before its work. By
    /// default 0.
    ///
    /// # Panics
    /// If the simulator has no function of that name.
    pub fn set_call_ns(self, symbol: &str, ns: u64) {
        assert_exists(symbol, (self.0.set_call_ns)(c_text(symbol).as_ptr(), ns));
    }

    /// Sets the step in ns to which elapsed times are rounded; with 0 they are exact. By default 0
    /// under the virtual clock, 500 under the host's. The result is always a float32 of
    /// milliseconds.
    pub fn set_resolution_ns(self, ns: u64) {
        (self.0.set_resolution_ns)(ns);
    }

    /// Sets the number of operations that a stream queues behind the running one. The next call
    /// waits for room, and the virtual clock jumps to that time. `u32::MAX` means no limit. By
    /// default no limit under the virtual clock, 1,021 under the host's.
    pub fn set_queue_depth(self, operations: u32) {
        (self.0.set_queue_depth)(operations);
    }

    /// Sets whether new objects have the handles of destroyed ones, as with a real driver, whose
    /// handles are addresses: a test then notices code that identifies objects by handle alone. By
    /// default each handle is new, so that a test notices a use after the object's end.
    pub fn reuse_handles(self, reuse: bool) {
        (self.0.reuse_handles)(reuse);
    }

    /// Sets whether `cuEventRecord` returns INVALID_CONTEXT without a current context also for a
    /// stream that is not a default one. By default it does not, as on an H200.
    pub fn require_context_for_records(self, require: bool) {
        (self.0.require_context_for_records)(require);
    }

    /// Sets whether a call of `symbol` is a *potentially unsafe API call* in the sense of
    /// CUstreamCaptureMode, which an open capture forbids. For functions about which NVIDIA's
    /// documentation says nothing.
    ///
    /// # Panics
    /// If the simulator has no function of that name.
    pub fn forbid_during_capture(self, symbol: &str, is_unsafe: bool) {
        assert_exists(
            symbol,
            (self.0.forbid_during_capture)(c_text(symbol).as_ptr(), is_unsafe),
        );
    }

    /// Shuts the driver down, as the process's exit does: from now on every call returns
    /// DEINITIALIZED.
    pub fn shut_down(self) {
        (self.0.shut_down)();
    }

    /// The number of events that exist.
    pub fn live_events(self) -> u64 {
        (self.0.live_events)()
    }

    /// The number of contexts that exist: retained primary ones, and created ones.
    pub fn live_contexts(self) -> u64 {
        (self.0.live_contexts)()
    }
}

fn assert_exists(symbol: &str, exists: bool) {
    assert!(exists, "the simulated driver has no function `{symbol}`");
}

fn checked_count(symbol: &str, count: u64) -> u64 {
    assert_exists(symbol, count != u64::MAX);
    count
}
