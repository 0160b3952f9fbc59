//! `GPUPROF_SIM_DEVICES` is the number of devices in a program that does not install the simulator
//! itself.

use libloading::os::unix::Library;

/// cuDeviceGetCount: the number of devices [...] that are available for execution.
#[test]
fn the_environment_sets_the_number_of_devices() {
    // SAFETY: the process's only test, and nothing else runs yet.
    unsafe { std::env::set_var("GPUPROF_SIM_DEVICES", "3") };
    let program = std::env::current_exe().unwrap();
    let path = program.with_file_name("libsimcuda.so");
    // SAFETY: the library is this crate's own; it has no initializers.
    let driver = unsafe { Library::new(&path) }.unwrap();
    // SAFETY: the type is cuInit's.
    let init = unsafe { driver.get::<extern "C" fn(u32) -> i32>(b"cuInit") }.unwrap();
    // SAFETY: the type is cuDeviceGetCount's.
    let count = unsafe { driver.get::<extern "C" fn(*mut i32) -> i32>(b"cuDeviceGetCount") };
    let mut devices = 0;
    assert_eq!(init(0), 0);
    assert_eq!(count.unwrap()(&mut devices), 0);
    assert_eq!(devices, 3);
    // It has an exit handler.
    std::mem::forget(driver);
}
