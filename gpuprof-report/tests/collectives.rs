//! NCCL's kernels in the line about the GPU's work.

mod profiles;

use gpuprof_report::profile::Profile;
use profiles::{digits, options, report};

const ALL_REDUCE: &str =
    "_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE";

/// The digits with their first kernel as a collective, which ran beside others for `beside` of its
/// time.
fn with_collective(beside: Option<u64>) -> Profile {
    let mut profile = digits();
    let kernel = profile.kernels.first_mut().unwrap();
    kernel.symbol = ALL_REDUCE.to_owned();
    kernel.concurrent_ns = beside.map(|tenths| kernel.times.total_ns / 10 * tenths);
    profile
}

fn work(profile: &Profile) -> String {
    let text = report(profile, &options(200));
    let line = text.lines().find(|line| line.starts_with("GPU work:"));
    line.unwrap().to_owned()
}

#[test]
fn the_share_of_collectives_and_of_their_overlap_is_stated() {
    let line = work(&with_collective(Some(4)));
    assert!(line.contains("NCCL collectives "), "{line}");
    assert!(
        line.contains("(40.0 % of it beside other kernels)"),
        "{line}"
    );
    // Of the other kernels the rest.
    assert!(line.contains("kernels "), "{line}");
}

#[test]
fn overlap_that_is_not_known_is_not_stated() {
    let line = work(&with_collective(None));
    assert!(line.contains("NCCL collectives "), "{line}");
    assert!(!line.contains("beside other kernels"), "{line}");
    assert!(!work(&digits()).contains("NCCL"));
}
