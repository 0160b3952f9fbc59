//! Counts and requested failures, which apply to the library that cudarc uses.

mod common;

use common::{context_and_stream, event, query, virtual_clock};
use cudarc::driver::sys::{self, CUevent_flags::CU_EVENT_DEFAULT, CUresult};

/// Calls are counted for all threads, and for the calling one; a reset clears both.
#[test]
fn calls_are_counted() {
    let (sim, _turn) = virtual_clock();
    let (_context, _stream) = context_and_stream();
    let made = event(CU_EVENT_DEFAULT) as usize;
    sim.reset_calls();
    query(made as _).unwrap();
    query(made as _).unwrap();
    std::thread::spawn(move || {
        query(made as _).unwrap();
        assert_eq!(sim.calls_here("cuEventQuery"), 1);
    })
    .join()
    .unwrap();
    assert_eq!(
        (sim.calls("cuEventQuery"), sim.calls_here("cuEventQuery")),
        (3, 2)
    );
    assert_eq!(sim.calls_by_symbol(), [("cuEventQuery".to_owned(), 3)]);
    sim.reset_calls();
    assert_eq!(
        (sim.calls("cuEventQuery"), sim.calls_here("cuEventQuery")),
        (0, 0)
    );
}

/// The nth call from now and the times - 1 after it return the code and do nothing.
#[test]
fn calls_fail_on_request() {
    let (sim, _turn) = virtual_clock();
    let (_context, _stream) = context_and_stream();
    let made = event(CU_EVENT_DEFAULT);
    sim.fail("cuEventQuery", 2, 2, 999);
    let answers: Vec<_> = (0..4).map(|_| query(made)).collect();
    let failure = Err(CUresult::CUDA_ERROR_UNKNOWN);
    assert_eq!(answers, [Ok(()), failure, failure, Ok(())]);
    let before = sim.live_events();
    sim.fail("cuEventCreate", 1, u64::MAX, 2);
    assert!(cudarc::driver::result::event::create(CU_EVENT_DEFAULT).is_err());
    assert_eq!(sim.live_events(), before);
    sim.clear_failures();
    assert!(cudarc::driver::result::event::create(CU_EVENT_DEFAULT).is_ok());
}

/// A misspelt name panics; it does not count 0 calls.
#[test]
#[should_panic(expected = "no function `cuEventQuerry`")]
fn a_wrong_name_panics() {
    let (sim, _turn) = virtual_clock();
    sim.calls("cuEventQuerry");
}

/// cuGetErrorName and cuGetErrorString describe a code.
#[test]
fn codes_have_names() {
    let (_sim, _turn) = virtual_clock();
    let name = cudarc::driver::DriverError(CUresult::CUDA_ERROR_NOT_READY);
    assert_eq!(name.error_name().unwrap(), c"CUDA_ERROR_NOT_READY");
    assert_eq!(name.error_string().unwrap(), c"device not ready");
}

/// The rlib contains a copy of the driver's code. cudarc, and a `dlopen` of libcuda.so, use the
/// loaded library instead.
#[test]
fn the_loaded_library_is_used() {
    let (sim, _turn) = virtual_clock();
    let before = sim.calls("cuDriverGetVersion");
    let mut version = 0;
    // SAFETY: `version` is writable.
    unsafe { sys::cuDriverGetVersion(&mut version) }
        .result()
        .unwrap();
    assert_eq!(
        (version, sim.calls("cuDriverGetVersion")),
        (13_000, before + 1)
    );
    // SAFETY: loaded already.
    let library = unsafe { libloading::Library::new("libcuda.so") }.unwrap();
    // SAFETY: the type is cuDriverGetVersion's.
    let found =
        unsafe { library.get::<unsafe extern "C" fn(*mut i32) -> i32>(b"cuDriverGetVersion") }
            .unwrap();
    // SAFETY: `version` is writable.
    assert_eq!(unsafe { found(&mut version) }, 0);
    assert_eq!(sim.calls("cuDriverGetVersion"), before + 2);
}
