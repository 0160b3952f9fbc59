//! Primary Context Management, Context Management and Profiler Control of the driver API reference.

use simbase::activity::WaitKind;

use super::driver_functions;
use crate::abi::{Handle, HostPointer, Out};
use crate::context::primary;
use crate::result_codes::Code;
use crate::{clock, executor, observer, state, thread};

driver_functions! {
    fn cuDevicePrimaryCtxRetain(out: Out<Handle>, device: i32) {
        let mut state = state::lock_initialized()?;
        let device = state.device(device)?;
        out.write(state.retain_primary(device))
    }

    /// INVALID_CONTEXT for a primary context that is not retained.
    fn cuDevicePrimaryCtxRelease_v2(device: i32) {
        let handle = {
            let mut state = state::lock_initialized()?;
            let handle = primary(state.device(device)?);
            let context = state.contexts.get_mut(&handle).ok_or(Code::INVALID_CONTEXT)?;
            if context.users > 1 {
                context.users -= 1;
                return Ok(());
            }
            handle
        };
        executor::drain_then(|| state::lock().release_primary(handle));
        Ok(())
    }

    /// Ends it with everything made in it, however often it is retained.
    fn cuDevicePrimaryCtxReset_v2(device: i32) {
        let handle = {
            let state = state::lock_initialized()?;
            primary(state.device(device)?)
        };
        executor::drain_then(|| {
            let mut state = state::lock();
            if state.contexts.contains_key(&handle) {
                state.destroy_context(handle);
            }
        });
        Ok(())
    }

    fn cuDevicePrimaryCtxGetState(device: i32, flags: Out<u32>, active: Out<i32>) {
        let state = state::lock_initialized()?;
        let living = state.contexts.contains_key(&primary(state.device(device)?));
        flags.write(0)?;
        active.write(i32::from(living))
    }

    /// NOT_SUPPORTED for execution affinity and graphics sharing, which are not simulated.
    fn cuCtxCreate_v4(out: Out<Handle>, parameters: HostPointer, _flags: u32, device: i32) {
        let mut state = state::lock_initialized()?;
        let device = state.device(device)?;
        if parameters.address() != 0 {
            return Err(Code::NOT_SUPPORTED);
        }
        let handle = state.create_context(device);
        out.write(handle)?;
        thread::push_context(handle)
    }

    /// INVALID_CONTEXT for a primary context.
    fn cuCtxDestroy_v2(handle: Handle) {
        {
            let state = state::lock_initialized()?;
            if primary(state.context(handle)?.device) == handle {
                return Err(Code::INVALID_CONTEXT);
            }
        }
        if thread::current_context() == handle {
            thread::pop_context();
        }
        executor::drain_then(|| state::lock().destroy_context(handle));
        Ok(())
    }

    fn cuCtxGetCurrent(out: Out<Handle>) {
        drop(state::lock_initialized()?);
        out.write(thread::current_context())
    }

    fn cuCtxSetCurrent(handle: Handle) {
        let state = state::lock_initialized()?;
        if handle != 0 {
            state.context(handle)?;
        }
        thread::set_current_context(handle)
    }

    fn cuCtxPushCurrent_v2(handle: Handle) {
        state::lock_initialized()?.context(handle)?;
        thread::push_context(handle)
    }

    /// INVALID_CONTEXT for an empty stack. The output is optional.
    fn cuCtxPopCurrent_v2(out: Out<Handle>) {
        drop(state::lock_initialized()?);
        let popped = thread::pop_context().ok_or(Code::INVALID_CONTEXT)?;
        out.write_if_given(popped);
        Ok(())
    }

    fn cuCtxGetDevice(out: Out<i32>) {
        let state = state::lock_initialized()?;
        let current = state.current_context()?;
        out.write(state.context(current)?.device as i32)
    }

    /// Null means the current context. CONTEXT_IS_DESTROYED for a destroyed one, as on an H200 with
    /// driver 580.
    fn cuCtxGetId(handle: Handle, out: Out<u64>) {
        let state = state::lock_initialized()?;
        let handle = if handle == 0 { state.current_context()? } else { handle };
        let context = state.context(handle).map_err(|_| Code::CONTEXT_IS_DESTROYED)?;
        thread::note_told_of(context.id);
        out.write(context.id)
    }

    fn cuCtxSynchronize() {
        let start = clock::now();
        let (current, tail) = {
            let mut state = state::lock_initialized()?;
            let current = state.current_context()?;
            state.check_context_not_capturing(current)?;
            state.check_unsafe_call()?;
            (current, state.context_tail(current))
        };
        executor::synchronize(current, tail)?;
        observer::add_wait(WaitKind::Context, current, None, start);
        Ok(())
    }

    /// Scheduling flags change how a host thread waits, which is not simulated.
    fn cuCtxSetFlags(_flags: u32) {
        state::lock_initialized()?.current_context().map(drop)
    }

    /// There is no tool to start but an observer, which sees the call.
    fn cuProfilerStart() {
        state::lock_initialized()?.current_context().map(drop)
    }

    fn cuProfilerStop() {
        state::lock_initialized()?.current_context().map(drop)
    }

    /// UNSUPPORTED_LIMIT for a limit that the device lacks.
    fn cuCtxGetLimit(out: Out<usize>, limit: i32) {
        let state = state::lock_initialized()?;
        let context = state.context(state.current_context()?)?;
        out.write(*context.limits.get(limit as usize).ok_or(Code::UNSUPPORTED_LIMIT)?)
    }

    /// The values have no effect.
    fn cuCtxSetLimit(limit: i32, value: usize) {
        let mut state = state::lock_initialized()?;
        let current = state.current_context()?;
        let context = state.contexts.get_mut(&current).ok_or(Code::INVALID_CONTEXT)?;
        *context.limits.get_mut(limit as usize).ok_or(Code::UNSUPPORTED_LIMIT)? = value;
        Ok(())
    }

    fn cuCtxGetCacheConfig(out: Out<i32>) {
        let state = state::lock_initialized()?;
        out.write(state.context(state.current_context()?)?.cache)
    }

    fn cuCtxSetCacheConfig(cache: i32) {
        let mut state = state::lock_initialized()?;
        let current = state.current_context()?;
        let context = state.contexts.get_mut(&current).ok_or(Code::INVALID_CONTEXT)?;
        if !(0..=3).contains(&cache) {
            return Err(Code::INVALID_VALUE);
        }
        context.cache = cache;
        Ok(())
    }

    /// Both outputs are optional; a greater priority is a smaller number.
    fn cuCtxGetStreamPriorityRange(least: Out<i32>, greatest: Out<i32>) {
        state::lock_initialized()?.current_context()?;
        least.write_if_given(0);
        greatest.write_if_given(-5);
        Ok(())
    }
}
