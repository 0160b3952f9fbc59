//! A libcupti that lacks functions, like an older one.

use simcupti::{InstallError, Options, install, install_with};

#[test]
fn hidden_functions_are_missing() {
    let hide = |names: &[&str]| Options {
        hide: names.iter().map(|name| name.to_string()).collect(),
        ..Options::default()
    };
    let nothing = install_with(&hide(&["cuptiNoSuchFunction"]));
    assert!(matches!(nothing, Err(InstallError::Library(_))));
    let options = hide(&["cuptiActivityEnableDriverApi"]);
    let cupti = install_with(&options).unwrap();
    assert!(matches!(install(), Err(InstallError::Installed)));
    assert!(install_with(&options).is_ok());
    // SAFETY: it is already loaded, so no initializer runs.
    let library = unsafe { libloading::Library::new("libcupti.so.13") }.unwrap();
    let has = |name: &str| {
        // SAFETY: the function is not called.
        unsafe { library.get::<unsafe extern "C" fn()>(name.as_bytes()) }.is_ok()
    };
    assert!(!has("cuptiActivityEnableDriverApi"));
    assert!(has("cuptiActivityEnableRuntimeApi") && has("cuptiActivityEnable"));
    assert!(!has("cuLaunchKernel"), "it is no driver");
    // SAFETY: the type is that of the header.
    let enable = unsafe { library.get::<extern "C" fn(u32) -> u32>(b"cuptiActivityEnable") };
    assert_eq!(enable.unwrap()(10), 15, "no simulated driver is loaded");
    assert_eq!(cupti.calls("cuptiActivityEnable"), 1);
}
