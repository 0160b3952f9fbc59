//! An example asks only for a device, and finds libcupti by its name.

use simcuda::{Device, real_or_simulated};

#[test]
fn the_simulated_device_brings_the_simulated_libcupti() {
    let Device::Simulated(sim) = real_or_simulated() else {
        return;
    };
    // SAFETY: it is already loaded, so no initializer runs.
    let library = unsafe { libloading::Library::new("libcupti.so.13") }.unwrap();
    // SAFETY: the type is that of the header.
    let timestamp = unsafe { library.get::<extern "C" fn(*mut u64) -> u32>(b"cuptiGetTimestamp") };
    let (before, mut now) = (sim.now(), 0);
    assert_eq!(timestamp.unwrap()(&mut now), 0);
    assert!((before..=sim.now()).contains(&now));
    assert_eq!(simcupti::install().unwrap().calls("cuptiGetTimestamp"), 1);
}
