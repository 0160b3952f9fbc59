//! Contexts are per thread, retained by count, and what was made in them ends with them.

mod common;

use common::{event, query, virtual_clock};
use cudarc::driver::result;
use cudarc::driver::sys::{self, CUevent_flags::CU_EVENT_DEFAULT, CUresult};

/// Context Management: a thread that made no context current has none, and cuEventCreate answers
/// INVALID_CONTEXT. Push makes one current, pop takes it away again.
#[test]
fn a_fresh_thread_has_no_context() {
    let (_sim, _turn) = virtual_clock();
    result::init().unwrap();
    // SAFETY: device 0 exists.
    let context = unsafe { result::primary_ctx::retain(0) }.unwrap() as usize;
    let there = std::thread::spawn(move || {
        assert_eq!(result::ctx::get_current().unwrap(), None);
        let refused = result::event::create(CU_EVENT_DEFAULT);
        assert_eq!(refused.unwrap_err().0, CUresult::CUDA_ERROR_INVALID_CONTEXT);
        // SAFETY: retained above.
        unsafe { sys::cuCtxPushCurrent_v2(context as sys::CUcontext) }
            .result()
            .unwrap();
        assert!(result::event::create(CU_EVENT_DEFAULT).is_ok());
        let mut popped = std::ptr::null_mut();
        // SAFETY: `popped` is writable.
        unsafe { sys::cuCtxPopCurrent_v2(&mut popped) }
            .result()
            .unwrap();
        assert_eq!(popped as usize, context);
        assert_eq!(result::ctx::get_current().unwrap(), None);
        // SAFETY: as above.
        let empty = unsafe { sys::cuCtxPopCurrent_v2(&mut popped) };
        assert_eq!(empty, CUresult::CUDA_ERROR_INVALID_CONTEXT);
    });
    there.join().unwrap();
    // SAFETY: retained above.
    unsafe { result::primary_ctx::release(0) }.unwrap();
}

/// Primary Context Management: it lives until the last release, and its handles die with it. Its next life
/// has the same handle and another id.
#[test]
fn the_last_release_ends_the_primary_context() {
    let (sim, _turn) = virtual_clock();
    result::init().unwrap();
    // SAFETY: device 0 exists.
    let context = unsafe { result::primary_ctx::retain(0) }.unwrap();
    // SAFETY: as above.
    unsafe { result::primary_ctx::retain(0) }.unwrap();
    // SAFETY: retained above.
    unsafe { result::ctx::set_current(context) }.unwrap();
    let (first, made) = (id(context), event(CU_EVENT_DEFAULT));
    // SAFETY: retained above.
    unsafe { result::primary_ctx::release(0) }.unwrap();
    assert_eq!((query(made), sim.live_contexts()), (Ok(()), 1));
    // SAFETY: retained above.
    unsafe { result::primary_ctx::release(0) }.unwrap();
    assert_eq!((sim.live_contexts(), sim.live_events()), (0, 0));
    assert_eq!(query(made), Err(CUresult::CUDA_ERROR_INVALID_HANDLE));
    let dead = result::event::create(CU_EVENT_DEFAULT);
    assert_eq!(
        dead.unwrap_err().0,
        CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED
    );
    // SAFETY: the simulator counts.
    let spare = unsafe { result::primary_ctx::release(0) };
    assert_eq!(spare.unwrap_err().0, CUresult::CUDA_ERROR_INVALID_CONTEXT);
    // SAFETY: device 0 exists.
    let next = unsafe { result::primary_ctx::retain(0) }.unwrap();
    assert_eq!(next, context);
    assert_ne!(id(next), first);
    // SAFETY: retained above.
    unsafe { result::primary_ctx::release(0) }.unwrap();
    // SAFETY: null pops the dead context.
    unsafe { result::ctx::set_current(std::ptr::null_mut()) }.unwrap();
}

fn id(context: sys::CUcontext) -> u64 {
    let mut id = 0;
    // SAFETY: `id` is writable.
    unsafe { sys::cuCtxGetId(context, &mut id) }
        .result()
        .unwrap();
    id
}

/// Every destroyed handle, every handle of another kind and every made-up one is INVALID_HANDLE.
#[test]
fn dead_and_foreign_handles_are_refused() {
    let (_sim, _turn) = virtual_clock();
    let (context, stream) = common::context_and_stream();
    let dead = event(CU_EVENT_DEFAULT);
    // SAFETY: created above.
    unsafe { result::event::destroy(dead) }.unwrap();
    let next = event(CU_EVENT_DEFAULT);
    assert_ne!(next, dead, "a handle is not given out twice");
    let refused = Err(CUresult::CUDA_ERROR_INVALID_HANDLE);
    assert_eq!(query(dead), refused);
    assert_eq!(query(stream.cu_stream().cast()), refused);
    assert_eq!(query(0x5eed as sys::CUevent), refused);
    let raw = result::stream::create(result::stream::StreamKind::NonBlocking).unwrap();
    // SAFETY: created above.
    unsafe { result::stream::destroy(raw) }.unwrap();
    // SAFETY: the simulator validates handles.
    let gone = unsafe { result::stream::synchronize(raw) };
    assert_eq!(gone.map_err(|error| error.0), refused);
    let module = result::module::load_data;
    // SAFETY: a NUL-terminated text.
    let module = unsafe { module(c".entry saxpy() {}".as_ptr().cast()) }.unwrap();
    // SAFETY: loaded above.
    unsafe { result::module::unload(module) }.unwrap();
    // SAFETY: the simulator validates handles.
    let function = unsafe { result::module::get_function(module, c"saxpy".to_owned()) };
    assert_eq!(function.map(drop).map_err(|error| error.0), refused);
    drop(context);
}

/// The stream's own context is told, whatever is current.
#[test]
fn a_stream_knows_its_context() {
    let (_sim, _turn) = virtual_clock();
    let (context, stream) = common::context_and_stream();
    let mut answer = std::ptr::null_mut();
    // SAFETY: `answer` is writable.
    unsafe { sys::cuStreamGetCtx(stream.cu_stream(), &mut answer) }
        .result()
        .unwrap();
    assert_eq!(answer, context.cu_ctx());
}
