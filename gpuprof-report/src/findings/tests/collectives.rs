//! The rule about NCCL's kernels.

use super::*;

const ALL_REDUCE: &str =
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)";

/// Ten collectives of a millisecond, of which `beside` run beside other kernels.
fn training(name: &str, beside: Option<u64>) -> Profile {
    let mut collective = kernel(name, 10, MS);
    collective.concurrent_ns = beside;
    collective.grid = [24, 1, 1];
    let step = function("step", 10, 10 * MS).kernels([kernel("matmul", 10, 8 * MS), collective]);
    program(h200(), [step, beside_nothing()], &[])
}

fn beside_nothing() -> Function {
    function("other", 1, US)
}

#[test]
fn collectives_that_run_alone_are_found() {
    let finding = the("exposed-collectives", &training(ALL_REDUCE, Some(MS)));
    assert_eq!(
        finding.evidence,
        "NCCL 11 % of GPU time, 90 % of it beside no other kernel; most in AllReduce"
    );
    assert_eq!(finding.gain_ns, 9 * MS);
    assert_eq!(finding.function.as_deref(), Some("step"));
}

#[test]
fn hidden_and_other_kernels_are_not() {
    let speaks = |profile: &Profile| speaks("exposed-collectives", profile);
    assert!(
        !speaks(&training(ALL_REDUCE, Some(2 * MS))),
        "9 % of the time"
    );
    assert!(!speaks(&training(ALL_REDUCE, None)), "not known");
    assert!(!speaks(&training("all_reduce", Some(0))), "not NCCL's");
}

#[test]
fn collectives_need_no_more_blocks() {
    let speaks = |name| speaks("underused-gpu", &training(name, Some(0)));
    assert!(speaks("all_reduce"));
    assert!(!speaks(ALL_REDUCE));
}
