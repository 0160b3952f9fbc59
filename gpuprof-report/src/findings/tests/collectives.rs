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

#[test]
fn the_function_whose_collective_is_exposed_is_named() {
    let all_reduce = |each_ns, beside_ns| {
        let mut collective = kernel(ALL_REDUCE, 10, each_ns);
        collective.concurrent_ns = Some(beside_ns);
        collective
    };
    // The hidden one takes longer, and the program's row is the sum of both.
    let hidden = function("hidden", 10, 4 * MS).kernels([all_reduce(4 * MS, 38 * MS)]);
    let exposed = function("exposed", 10, 2 * MS).kernels([all_reduce(2 * MS, MS)]);
    let mut profile = program(h200(), [hidden, exposed, beside(MS)], &[]);
    let is_other = |k: &KernelStats| k.symbol != ALL_REDUCE;
    profile.kernels.retain(is_other);
    profile.kernels.push(all_reduce(6 * MS, 39 * MS));
    let finding = the("exposed-collectives", &profile);
    assert_eq!(finding.function.as_deref(), Some("exposed"));
    assert_eq!(finding.gain_ns, 21 * MS);
    // As much again was launched outside of every function.
    profile.kernels.push(all_reduce(3 * MS, 0));
    let finding = the("exposed-collectives", &profile);
    assert_eq!(finding.function, None);
}
