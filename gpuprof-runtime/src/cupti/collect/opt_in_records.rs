//! The CUDA calls and records that are collected on request.

use super::bindings::{DOMAIN_DRIVER, DOMAIN_RUNTIME, kind};
use super::callback_ids::{self, CallGroup};
use super::library::{CallError, CuptiLibrary};

/// What is collected beside what always is.
#[derive(Default)]
pub(crate) struct OptInRecords {
    records_memory_calls: bool,
    records_lookups: bool,
    memory: MemoryRecords,
}

/// Whether CUPTI records allocations and frees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum MemoryRecords {
    #[default]
    Off,
    /// To the end of the process: memory that is allocated now may be freed at any time.
    On,
    Refused(CallError),
}

impl OptInRecords {
    pub(super) fn memory(&self) -> MemoryRecords {
        self.memory
    }

    /// Records of memory were disabled.
    pub(super) fn forget_memory(&mut self) {
        self.memory = MemoryRecords::Off;
    }

    /// Records all optional calls or, with `memory`, the records of memory with their calls.
    pub(super) fn record(&mut self, all: bool, memory: bool, library: &CuptiLibrary) {
        // Calls first: a record whose call is unknown belongs to no function.
        let records_memory = all || memory || self.memory == MemoryRecords::On;
        if records_memory != self.records_memory_calls {
            self.records_memory_calls = records_memory;
            enable(CallGroup::Memory, records_memory, library);
        }
        if all != self.records_lookups {
            self.records_lookups = all;
            enable(CallGroup::Lookups, all, library);
        }
        if memory && self.memory == MemoryRecords::Off {
            self.memory = match library.enable(kind::MEMORY2) {
                Ok(()) => MemoryRecords::On,
                Err(error) => MemoryRecords::Refused(error),
            };
        }
    }
}

fn enable(group: CallGroup, is_enabled: bool, library: &CuptiLibrary) {
    for (is_runtime, domain) in [(false, DOMAIN_DRIVER), (true, DOMAIN_RUNTIME)] {
        for cbid in callback_ids::ids_of_group(is_runtime, group) {
            // Fails if this version lacks the call.
            let _ = library.set_callback(is_enabled, domain, cbid);
        }
    }
}
