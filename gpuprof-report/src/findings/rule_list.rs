//! The list of rules.

use super::candidate::FindingCandidate;
use super::profile_facts::ProfileFacts;
use super::rule::FindingCheck;
use super::{
    access, below_roofline, cache_bound, collectives, copies, double_precision, gpu_idle, host,
    late_rank, launches, loading, measured_bytes, memory, overlap, shapes, tensor_cores, waits,
    whole_run,
};
use crate::profile::FindingRule;

/// Every rule. Of two findings with the same gain the rule that comes first here is preferred.
pub(super) const RULES: [FindingCheck; 35] = [
    rule(FindingRule::Synchronization, host::synchronization),
    rule(FindingRule::AllocationChurn, memory::allocation_churn),
    rule(FindingRule::ModuleLoads, loading::module_loads),
    rule(FindingRule::SmallCopies, copies::small_copies),
    rule(FindingRule::LaunchBound, launches::launch_bound),
    rule(FindingRule::ShortKernels, launches::short_kernels),
    rule(FindingRule::HostBound, host::host_bound),
    rule(FindingRule::GpuIdle, gpu_idle::gpu_idle),
    rule(FindingRule::FirstCall, loading::first_call),
    rule(FindingRule::HostCopies, copies::host_copies),
    rule(FindingRule::OneStream, overlap::one_stream),
    rule(
        FindingRule::ExposedCollectives,
        collectives::exposed_collectives,
    ),
    rule(FindingRule::Memsets, memory::memsets),
    rule(FindingRule::NoTensorCores, tensor_cores::unused),
    rule(FindingRule::DoublePrecision, double_precision::unmeant),
    rule(FindingRule::BankConflicts, access::faults),
    rule(FindingRule::UncoalescedAccess, access::faults),
    rule(FindingRule::Divergence, access::faults),
    rule(FindingRule::CacheBound, cache_bound::cache_bound),
    rule(FindingRule::MemoryLatency, waits::waits),
    rule(FindingRule::MathThrottle, waits::waits),
    rule(FindingRule::BarrierWait, waits::waits),
    rule(FindingRule::LoadStoreQueue, waits::waits),
    rule(FindingRule::SharedMemoryQueue, waits::waits),
    rule(FindingRule::InstructionFetch, waits::waits),
    rule(FindingRule::SerialKernels, overlap::serial_kernels),
    rule(FindingRule::UnderusedGpu, shapes::underused),
    rule(FindingRule::TailWave, shapes::tail_wave),
    rule(FindingRule::LocalMemory, memory::local_memory),
    rule(FindingRule::MeasuredBytes, measured_bytes::measured_bytes),
    rule(FindingRule::BelowRoofline, below_roofline::roofline),
    rule(FindingRule::WideSpread, whole_run::spread),
    rule(FindingRule::ClocksThrottled, whole_run::throttled),
    rule(FindingRule::Outside, whole_run::unattributed),
    rule(FindingRule::LateRank, late_rank::late_rank),
];

const fn rule(
    id: FindingRule,
    find: fn(&FindingCheck, &ProfileFacts<'_>) -> Vec<FindingCandidate>,
) -> FindingCheck {
    FindingCheck { id, find }
}
