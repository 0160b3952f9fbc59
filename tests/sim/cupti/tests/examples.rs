//! What an example does: it asks for a device and nothing else, and finds libcupti by its name.

use simcuda::{Device, real_or_simulated};

/// Where the simulated device is taken, the simulated libcupti comes with it.
#[test]
fn it_comes_with_the_simulated_device() {
    let Device::Simulated(sim) = real_or_simulated() else {
        return;
    };
    // SAFETY: loaded already.
    let library = unsafe { libloading::Library::new("libcupti.so.13") }.unwrap();
    // SAFETY: the type is that of the header.
    let timestamp = unsafe { library.get::<extern "C" fn(*mut u64) -> u32>(b"cuptiGetTimestamp") };
    let (before, mut now) = (sim.now(), 0);
    assert_eq!(timestamp.unwrap()(&mut now), 0);
    assert!((before..=sim.now()).contains(&now));
    assert_eq!(simcupti::install().unwrap().calls("cuptiGetTimestamp"), 1);
}
