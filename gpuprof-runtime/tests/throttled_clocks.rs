//! What NVML says of clocks, on a simulated one.
//!
//! One test: the library, once loaded, is the process's.

use gpuprof_runtime::nvml::NvmlClocks;
use gpuprof_runtime::profile::{Device, Throttle, ThrottleReason};
use simnvml::{Simulated, State};

const IDLE: u64 = 1;
const POWER_CAP: u64 = 4;
const THERMAL: u64 = 0x20;

fn device(ordinal: u32, uuid: &str) -> Device {
    let mut device = Device::default();
    device.ordinal = ordinal;
    device.uuid = uuid.into();
    device
}

fn state(reasons: u64, sm_clock: u32) -> State {
    State {
        reasons,
        sm_clock,
        result: 0,
    }
}

#[test]
fn reasons_add_up_and_the_lowest_clock_stays_until_it_is_forgotten() {
    let simulated = simnvml::install();
    let mut clocks = NvmlClocks::open().unwrap();
    // CUDA's second device is NVML's only one.
    let devices = [
        device(0, "GPU-00000000-0000-0000-0000-000000000000"),
        device(1, Simulated::UUID),
    ];
    clocks.record_throttled(&devices);
    assert_eq!(clocks.throttled(), []);
    simulated.set(state(IDLE, 345));
    clocks.record_throttled(&devices);
    assert_eq!(clocks.throttled(), [], "an idle device is not held down");

    for (reasons, clock) in [
        (POWER_CAP, 1_500),
        (POWER_CAP | THERMAL, 1_200),
        (POWER_CAP, 1_700),
        (0, 345),
    ] {
        simulated.set(state(reasons, clock));
        clocks.record_throttled(&devices);
    }
    let found = clocks.throttled();
    let expected = [{
        let mut throttle = Throttle::default();
        throttle.device = 1;
        throttle.reasons = vec![ThrottleReason::PowerCap, ThrottleReason::ThermalSlowdown];
        throttle.sm_clock_mhz = Some(1_200);
        throttle.max_sm_clock_mhz = Some(Simulated::MAX_CLOCK);
        throttle.mean_sm_clock_mhz = found[0].mean_sm_clock_mhz;
        (throttle.throttled_ns, throttle.sampled_ns) = (found[0].throttled_ns, found[0].sampled_ns);
        throttle
    }];
    assert_eq!(found, expected);
    let mean = found[0].mean_sm_clock_mhz.expect("it has a clock");
    assert!((1_200..=1_700).contains(&mean), "{mean}");
    assert!(found[0].throttled_ns < found[0].sampled_ns);

    simulated.set(State {
        result: 15,
        ..state(THERMAL, 100)
    });
    clocks.record_throttled(&devices);
    assert_eq!(
        clocks.throttled(),
        expected,
        "a GPU that is lost says nothing"
    );
    clocks.reset();
    assert_eq!(clocks.throttled(), []);
    drop(clocks);
    assert_eq!(simulated.open_handles(), 0);
}
