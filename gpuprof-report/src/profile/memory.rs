//! Memory that the program allocates: by kind and device, and by function. All of it is empty
//! unless `GPUPROF_MEMORY=on` is set.

use super::word_enums::MemoryKind;
use crate::figures::{Sum, figures};

figures! {
    /// The memory of the program.
    ///
    /// Totals are those of the window. Live memory and peaks are those of the process since
    /// recording began, since memory outlives a window.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct Memory {
        /// By kind and device.
        pub uses: Vec<MemoryUse> = special;
        /// Allocations and frees outside any profiled function, by kind.
        pub outside: Vec<FunctionMemory> = special;
        /// Frees of memory whose allocation was not recorded: it came before recording began, or
        /// its record was dropped.
        pub unknown_frees: u64 = sum;
        /// The size of that memory, bytes.
        pub unknown_freed_bytes: u64 = sum;
        /// Allocations that are live according to the records, and whose address was allocated
        /// again: the record of their free is missing.
        pub missed_frees: u64 = sum;
        /// Live allocations for which there was no room in the table. They count in the live bytes,
        /// and not in those of a function.
        pub untracked_allocations: u64 = sum;
        /// The size of these, bytes.
        pub untracked_bytes: u64 = sum;
        /// Records that arrived after later ones were counted: a peak may be inexact.
        pub late_records: u64 = sum;
        /// Records whose CUDA call is unknown. They count as outside any profiled function.
        pub records_without_call: u64 = sum;
    }
}

figures! {
    /// Memory of one kind, on one device if it is device memory.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct MemoryUse {
        /// Of what kind.
        pub kind: MemoryKind = special;
        /// CUDA ordinal; `None` for host memory.
        pub device: Option<u32> = special;
        /// In the window.
        pub totals: MemoryTotals = sum, json(flatten);
        /// Allocations that were live when the profile was taken.
        pub live_allocations: u64 = sum;
        /// The size of these, bytes.
        pub live_bytes: u64 = sum;
        /// The most that was live at once since recording began, bytes. Of merged profiles that of
        /// the process with the most.
        pub peak_bytes: u64 = special;
        /// The function whose allocation reached the peak; `None` outside any profiled function,
        /// and if it is unknown.
        pub peak_function: Option<String> = special;
    }
}

figures! {
    /// Allocations and frees.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct MemoryTotals {
        /// Allocations.
        pub allocations: u64 = sum;
        /// Their size, bytes.
        pub allocated_bytes: u64 = sum;
        /// Frees.
        pub frees: u64 = sum;
        /// The size of what they freed, bytes.
        pub freed_bytes: u64 = sum;
    }
}

impl MemoryTotals {
    /// Adds `other`.
    pub fn add(&mut self, other: &Self) {
        Sum::add(self, other);
    }
}

figures! {
    /// Memory of one kind that a function allocated and freed, on all devices.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct FunctionMemory {
        /// Of what kind.
        pub kind: MemoryKind = special;
        /// In its calls, nested functions included.
        pub inclusive: MemoryTotals = sum;
        /// In its calls, without nested functions.
        pub exclusive: MemoryTotals = sum;
        /// Allocations of the function itself that were live when the profile was taken, whenever
        /// they were made.
        pub live_allocations: u64 = sum;
        /// The size of these, bytes.
        pub live_bytes: u64 = sum;
        /// By how much its own allocations raised the program's peak in the window, bytes.
        pub peak_growth_bytes: u64 = sum;
    }
}
