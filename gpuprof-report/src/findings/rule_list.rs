//! The list of rules.

use super::rule::FindingCheck;
use super::{
    access, below_roofline, cache_bound, collectives, copies, double_precision, gpu_idle, host,
    late_rank, launches, loading, measured_bytes, memory, overlap, shapes, tensor_cores, waits,
    whole_run,
};

/// Every rule. Of two findings with the same gain the rule that comes first here is preferred.
pub(super) const RULES: [&FindingCheck; 35] = [
    &host::SYNCHRONIZATION,
    &memory::ALLOCATION_CHURN,
    &loading::MODULE_LOADS,
    &copies::SMALL_COPIES_RULE,
    &launches::LAUNCH_BOUND,
    &launches::SHORT_KERNELS,
    &host::HOST_BOUND,
    &gpu_idle::GPU_IDLE,
    &loading::FIRST_CALL,
    &copies::HOST_COPIES,
    &overlap::ONE_STREAM,
    &collectives::EXPOSED_COLLECTIVES,
    &memory::MEMSETS_RULE,
    &tensor_cores::NO_TENSOR_CORES,
    &double_precision::DOUBLE_PRECISION,
    &access::BANK_CONFLICTS,
    &access::UNCOALESCED_ACCESS,
    &access::DIVERGENCE,
    &cache_bound::CACHE_BOUND,
    &waits::MEMORY_LATENCY,
    &waits::MATH_THROTTLE,
    &waits::BARRIER_WAIT,
    &waits::LOAD_STORE_QUEUE,
    &waits::SHARED_MEMORY_QUEUE,
    &waits::INSTRUCTION_FETCH,
    &overlap::SERIAL_KERNELS,
    &shapes::UNDERUSED,
    &shapes::TAIL_WAVE,
    &memory::LOCAL_MEMORY,
    &measured_bytes::MEASURED_BYTES,
    &below_roofline::ROOFLINE,
    &whole_run::SPREAD,
    &whole_run::THROTTLED,
    &whole_run::UNATTRIBUTED,
    &late_rank::LATE_RANK,
];
