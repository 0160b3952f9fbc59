//! A driver without some functions, as if it were older.

use cudarc::driver::{CudaContext, sys};
use simcuda::{InstallError, Options, install_with};

/// dlsym finds all functions except the hidden ones. cudarc panics for a missing function, so
/// gpuprof looks functions up itself.
#[test]
fn hidden_functions_are_missing() {
    let hide = |names: &[&str]| Options {
        virtual_clock: true,
        hide: names.iter().map(|name| name.to_string()).collect(),
        ..Options::default()
    };
    let nothing = install_with(&hide(&["cuNoSuchFunction"]));
    assert!(
        matches!(nothing, Err(InstallError::NothingToHide(name)) if name == "cuNoSuchFunction")
    );
    let options = hide(&["cuEventElapsedTime_v2", "cuStreamGetId"]);
    let sim = install_with(&options).unwrap();
    assert!(matches!(
        install_with(&Options::default()),
        Err(InstallError::Installed)
    ));
    assert_eq!(install_with(&options).unwrap().now(), sim.now());
    let context = CudaContext::new(0).unwrap();
    context.new_stream().unwrap();
    assert_eq!(sim.calls("cuInit"), 1);
    // SAFETY: loaded already.
    let library = unsafe { libloading::Library::new("libcuda.so") }.unwrap();
    let has = |name: &str| {
        // SAFETY: the function is only looked for.
        unsafe { library.get::<unsafe extern "C" fn()>(name.as_bytes()) }.is_ok()
    };
    assert!(!has("cuEventElapsedTime_v2") && !has("cuStreamGetId"));
    assert!(has("cuEventElapsedTime") && has("cuStreamGetCtx"));
    let mut id = 0;
    // SAFETY: null is the default stream.
    let call = std::panic::catch_unwind(move || unsafe {
        sys::cuStreamGetId(std::ptr::null_mut(), &mut id)
    });
    assert!(call.is_err());
}
