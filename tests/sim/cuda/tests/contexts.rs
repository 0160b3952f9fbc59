//! Contexts are current to threads, retained by count, and destroyed with what was created in them.

mod common;

use common::{event, query, virtual_clock};
use cudarc::driver::result;
use cudarc::driver::sys::{self, CUevent_flags::CU_EVENT_DEFAULT, CUresult};

/// Context Management: a thread that made no context current has none, and cuEventCreate answers
/// INVALID_CONTEXT. Push makes one current, and pop undoes that.
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

/// Primary Context Management: a reset ends it, with everything made in it, although it is
/// retained.
#[test]
fn a_reset_ends_the_primary_context() {
    let (sim, _turn) = virtual_clock();
    result::init().unwrap();
    // SAFETY: device 0 exists.
    let context = unsafe { result::primary_ctx::retain(0) }.unwrap();
    // SAFETY: retained above.
    unsafe { result::ctx::set_current(context) }.unwrap();
    let (first, made) = (id(context), event(CU_EVENT_DEFAULT));
    // SAFETY: device 0 exists.
    unsafe { sys::cuDevicePrimaryCtxReset_v2(0) }
        .result()
        .unwrap();
    assert_eq!((sim.live_contexts(), sim.live_events()), (0, 0));
    assert_eq!(query(made), Err(CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED));
    // SAFETY: device 0 exists.
    let next = unsafe { result::primary_ctx::retain(0) }.unwrap();
    assert_eq!(next, context);
    assert_ne!(id(next), first);
    // SAFETY: retained above.
    unsafe { result::primary_ctx::release(0) }.unwrap();
    // SAFETY: null pops the dead context.
    unsafe { result::ctx::set_current(std::ptr::null_mut()) }.unwrap();
}

/// Primary Context Management: it exists until the last release, and so do its handles. When it is
/// created again it has the same handle and another id.
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
    let gone = Err(CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED);
    assert_eq!(query(made), gone);
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

/// The handle of a destroyed object, of an object of another kind, and an invented one are
/// INVALID_HANDLE.
#[test]
fn invalid_handles_are_refused() {
    let (_sim, _turn) = virtual_clock();
    let (context, stream) = common::context_and_stream();
    let dead = event(CU_EVENT_DEFAULT);
    // SAFETY: created above.
    unsafe { result::event::destroy(dead) }.unwrap();
    let next = event(CU_EVENT_DEFAULT);
    assert_ne!(next, dead, "a handle is not reused");
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

/// cuStreamGetCtx returns the stream's own context, not the current one.
#[test]
fn the_context_of_a_stream_can_be_queried() {
    let (_sim, _turn) = virtual_clock();
    let (context, stream) = common::context_and_stream();
    let mut answer = std::ptr::null_mut();
    // SAFETY: `answer` is writable.
    unsafe { sys::cuStreamGetCtx(stream.cu_stream(), &mut answer) }
        .result()
        .unwrap();
    assert_eq!(answer, context.cu_ctx());
}

/// A second context on device 0, current from now on.
fn create() -> sys::CUcontext {
    let mut context = std::ptr::null_mut();
    // SAFETY: `context` is writable; no parameters, no flags.
    unsafe { sys::cuCtxCreate_v4(&mut context, std::ptr::null_mut(), 0, 0) }
        .result()
        .unwrap();
    context
}

/// cuCtxDestroy: Destroys and cleans up all resources associated with the context, also where it is
/// current to other threads, attempting to access [it] from those threads will result in the error
/// CUDA_ERROR_CONTEXT_IS_DESTROYED. It pops the context of the calling thread. A primary context is
/// refused. All calls on its events, pending ones too, return the same error, as observed on an
/// H200 (driver 580.159).
#[test]
fn a_created_context_is_destroyed_with_all_in_it() {
    let (sim, _turn) = virtual_clock();
    result::init().unwrap();
    let before = sim.live_contexts();
    let context = create();
    let (made, stream) = (event(CU_EVENT_DEFAULT), stream());
    let pending = event(CU_EVENT_DEFAULT);
    // SAFETY: both live.
    unsafe { result::event::record(made, stream) }.unwrap();
    sim.set_event_ns(1_000);
    for event in [pending, pending] {
        // SAFETY: both live. The second record starts after the first one's time.
        unsafe { result::event::record(event, stream) }.unwrap();
    }
    sim.set_event_ns(0);
    assert_eq!(query(pending), Err(CUresult::CUDA_ERROR_NOT_READY));
    let (destroyed, is_destroyed) = std::sync::mpsc::channel();
    let (ready, is_ready) = std::sync::mpsc::channel();
    let handle = context as usize;
    let other = std::thread::spawn(move || {
        // SAFETY: the context lives.
        unsafe { result::ctx::set_current(handle as _) }.unwrap();
        ready.send(()).unwrap();
        is_destroyed.recv().unwrap();
        result::event::create(CU_EVENT_DEFAULT)
            .map(drop)
            .map_err(|error| error.0)
    });
    is_ready.recv().unwrap();
    // SAFETY: created above.
    unsafe { sys::cuCtxDestroy_v2(context) }.result().unwrap();
    destroyed.send(()).unwrap();
    assert_eq!(
        other.join().unwrap(),
        Err(CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED)
    );
    assert_eq!(result::ctx::get_current().unwrap(), None);
    assert_eq!(sim.live_contexts(), before);
    let gone = Err(CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED);
    assert_eq!(common::elapsed(made, made), gone.map(|()| 0.0));
    for event in [made, pending] {
        assert_eq!(query(event), gone);
        // SAFETY: the simulator validates handles.
        let destroyed = unsafe { result::event::destroy(event) };
        assert_eq!(destroyed.map_err(|error| error.0), gone);
    }
    // SAFETY: as above.
    let asked = unsafe { sys::cuCtxGetId(context, &mut 0) };
    assert_eq!(asked, CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED);
    // SAFETY: as above.
    let pushed = unsafe { sys::cuCtxPushCurrent_v2(context) };
    assert_eq!(pushed, CUresult::CUDA_ERROR_INVALID_CONTEXT);
    // SAFETY: device 0 exists.
    let primary = unsafe { result::primary_ctx::retain(0) }.unwrap();
    // SAFETY: as above.
    let refused = unsafe { sys::cuCtxDestroy_v2(primary) };
    assert_eq!(refused, CUresult::CUDA_ERROR_INVALID_CONTEXT);
    // SAFETY: retained above.
    unsafe { result::primary_ctx::release(0) }.unwrap();
}

/// cuEventRecord: event and stream must be from the same context, also where both contexts are of
/// one device: INVALID_HANDLE. cuStreamWaitEvent and cuEventElapsedTime go across contexts of one
/// device.
#[test]
fn an_event_is_recorded_in_its_own_context_only() {
    let (_sim, _turn) = virtual_clock();
    result::init().unwrap();
    let first = create();
    let (mine, my_stream) = (event(CU_EVENT_DEFAULT), stream());
    let second = create();
    let (other, other_stream) = (event(CU_EVENT_DEFAULT), stream());
    // SAFETY: all of them live; so for all below.
    let record = |event, stream| unsafe { result::event::record(event, stream) };
    let refused = record(mine, other_stream).map_err(|error| error.0);
    assert_eq!(refused, Err(CUresult::CUDA_ERROR_INVALID_HANDLE));
    record(mine, my_stream).unwrap();
    record(other, other_stream).unwrap();
    assert_eq!(common::elapsed(mine, other), Ok(0.0));
    // SAFETY: both live.
    unsafe { sys::cuStreamWaitEvent(other_stream, mine, 0) }
        .result()
        .unwrap();
    for context in [second, first] {
        // SAFETY: created above.
        unsafe { sys::cuCtxDestroy_v2(context) }.result().unwrap();
    }
}

/// Not documented; so on an H200 with driver 580.159, unless a test asks for the other way.
#[test]
fn a_record_on_a_stream_of_its_own_handle_needs_no_current_context() {
    let (sim, _turn) = virtual_clock();
    result::init().unwrap();
    let context = create();
    let (mine, my_stream) = (event(CU_EVENT_DEFAULT), stream());
    let other = create();
    // SAFETY: all of them live; so for all below.
    let record = |stream| unsafe { result::event::record(mine, stream) }.map_err(|error| error.0);
    assert_eq!(record(my_stream), Ok(()));
    for _ in 0..2 {
        let mut popped = std::ptr::null_mut();
        // SAFETY: `popped` is writable.
        unsafe { sys::cuCtxPopCurrent_v2(&mut popped) }
            .result()
            .unwrap();
    }
    assert_eq!(record(my_stream), Ok(()));
    // SAFETY: it lives.
    let is_capturing = unsafe { result::stream::is_capturing(my_stream) };
    assert!(is_capturing.is_ok());
    let refused = Err(CUresult::CUDA_ERROR_INVALID_CONTEXT);
    assert_eq!(record(std::ptr::null_mut()), refused);
    sim.require_context_for_records(true);
    assert_eq!(record(my_stream), refused);
    sim.require_context_for_records(false);
    for context in [other, context] {
        // SAFETY: created above.
        unsafe { sys::cuCtxDestroy_v2(context) }.result().unwrap();
    }
}

/// Not documented, but usual for allocators: a new object may have the address of a destroyed one.
/// cuCtxGetId is unique during the program.
#[test]
fn addresses_are_reused_on_request() {
    let (sim, _turn) = virtual_clock();
    result::init().unwrap();
    sim.reuse_handles(true);
    let context = create();
    let (first, made) = (id(context), event(CU_EVENT_DEFAULT));
    // SAFETY: created above.
    unsafe { result::event::destroy(made) }.unwrap();
    assert_eq!(event(CU_EVENT_DEFAULT), made);
    // SAFETY: created above.
    unsafe { sys::cuCtxDestroy_v2(context) }.result().unwrap();
    let again = create();
    assert_eq!(event(CU_EVENT_DEFAULT), made);
    // SAFETY: created above.
    unsafe { result::event::destroy(made) }.unwrap();
    assert_eq!(query(made), Err(CUresult::CUDA_ERROR_INVALID_HANDLE));
    sim.reuse_handles(false);
    assert_eq!(again, context);
    assert_ne!(id(again), first);
    // SAFETY: created above.
    unsafe { sys::cuCtxDestroy_v2(again) }.result().unwrap();
}

fn stream() -> sys::CUstream {
    result::stream::create(result::stream::StreamKind::NonBlocking).unwrap()
}
