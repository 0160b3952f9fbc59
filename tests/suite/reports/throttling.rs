//! Promise: if NVML reports that a device ran below its clocks, the profile and a finding say so,
//! with the reason; otherwise they are silent. And the link that NVML reports is what host copies
//! are compared with.

use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::{CudaSlice, CudaStream};
use gpuprof::profile::{FindingRule, ThrottleReason};
use gpuprof::{Profile, gpu_profile};
use simnvml::{Simulated, State};
use support::cupti_world::{Tier, tier};
use support::suite::Module;
use support::tests;

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        a_hot_device_is_told_and_an_idle_one_is_not,
        a_sample_weighs_as_much_as_the_time_it_covers,
        host_copies_are_a_share_of_the_link_that_nvml_reports,
    ]],
);

/// `nvmlClocksEventReasonGpuIdle` and `nvmlClocksEventReasonSwThermalSlowdown`.
const IDLE: u64 = 1;
const THERMAL: u64 = 0x20;
const MS: u64 = 1_000_000;

#[gpu_profile]
fn solve(t: &Tier, stream: &Arc<CudaStream>) {
    t.gpu.kernel_on(stream, 10 * MS);
}

fn profile(t: &Tier) -> Profile {
    let session = t.session();
    (0..20).for_each(|_| solve(t, &t.gpu.stream));
    t.finish(session)
}

fn findings(profile: &Profile) -> Vec<&str> {
    let findings = profile.findings.iter();
    let throttled = findings.filter(|finding| finding.rule == FindingRule::ClocksThrottled);
    throttled.map(|finding| finding.evidence.as_str()).collect()
}

fn a_sample_weighs_as_much_as_the_time_it_covers() {
    let nvml = simnvml::install();
    let t = tier();
    let state = |reasons, sm_clock| State {
        reasons,
        sm_clock,
        result: 0,
    };
    nvml.set(state(THERMAL, 990));
    let session = t.session();
    (0..20).for_each(|_| solve(&t, &t.gpu.stream));
    t.synchronize();
    drop(gpuprof::collect());
    nvml.set(state(IDLE, 345));
    let hot = session.snapshot().throttled[0].sampled_ns;
    // Thirty times as long as the hot samples at least, so that they are 3 % of all.
    std::thread::sleep(Duration::from_nanos(30 * hot));
    let profile = t.finish(session);
    let throttle = &profile.throttled[0];
    assert_eq!(throttle.mean_sm_clock_mhz, Some(990));
    let share = throttle.throttled_ns as f64 / throttle.sampled_ns as f64;
    assert!(share > 0.0 && share < 0.05, "{throttle:?}");
    assert_eq!(findings(&profile).len(), 0, "{:?}", profile.findings);
}

fn a_hot_device_is_told_and_an_idle_one_is_not() {
    let nvml = simnvml::install();
    let t = tier();
    let state = |reasons, sm_clock| State {
        reasons,
        sm_clock,
        result: 0,
    };
    nvml.set(state(IDLE, 345));
    let cool = profile(&t);
    assert_eq!((cool.throttled.len(), findings(&cool).len()), (0, 0));

    nvml.set(state(THERMAL, 1_200));
    let hot = profile(&t);
    assert_eq!(hot.throttled.len(), 1);
    let throttle = &hot.throttled[0];
    assert_eq!((throttle.device, throttle.sm_clock_mhz), (0, Some(1_200)));
    assert_eq!(throttle.max_sm_clock_mhz, Some(Simulated::MAX_CLOCK));
    assert_eq!(throttle.reasons, [ThrottleReason::ThermalSlowdown]);
    let told = findings(&hot);
    assert_eq!(told.len(), 1);
    assert!(told[0].contains("thermal slowdown"), "{}", told[0]);

    nvml.set(state(IDLE, 345));
    let cool_again = profile(&t);
    assert!(cool_again.throttled.is_empty(), "a session begins anew");
}

#[gpu_profile(bytes = 4 * host.len())]
fn upload(stream: &Arc<CudaStream>, host: &[f32]) -> CudaSlice<f32> {
    stream.clone_htod(host).expect("a copy")
}

fn host_copies_are_a_share_of_the_link_that_nvml_reports() {
    let _nvml = simnvml::install();
    let t = tier();
    t.sim.set_kernel_ns("memcpy", MS);
    let session = t.session();
    // 3.94 MB in 1 ms, a quarter of 16 lanes of generation 3.
    drop(upload(&t.gpu.stream, &vec![1.0; 984_615]));
    let profile = t.finish(session);
    let link = profile.devices[0].peak_link_bytes_per_s;
    assert_eq!(link, Some(16 * 984_615_385));
    let table = profile.to_string();
    let row = table
        .lines()
        .find(|line| line.starts_with("throttling::upload  "));
    let row = row.unwrap_or_else(|| panic!("{table}"));
    assert!(row.contains("25.0 link"), "{row}");
}
