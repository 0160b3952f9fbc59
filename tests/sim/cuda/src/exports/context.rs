//! Primary Context Management and Context Management of the driver API reference.

use simbase::activity::On;

use super::driver_functions;
use crate::abi::{Answer, Handle, Host, Out};
use crate::codes::Code;
use crate::context::{self, primary};
use crate::{clock, executor, observer, state};

driver_functions! {
    fn cuDevicePrimaryCtxRetain(out: Out<Handle>, device: i32) {
        let mut state = state::ready()?;
        let device = state.device(device)?;
        out.put(state.retain_primary(device))
    }

    /// INVALID_CONTEXT for a primary context that is not retained.
    fn cuDevicePrimaryCtxRelease_v2(device: i32) {
        let handle = {
            let mut state = state::ready()?;
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

    fn cuDevicePrimaryCtxGetState(device: i32, flags: Out<u32>, active: Out<i32>) {
        let state = state::ready()?;
        let living = state.contexts.contains_key(&primary(state.device(device)?));
        flags.put(0)?;
        active.put(i32::from(living))
    }

    /// Execution affinity and graphics sharing are not simulated: parameters answer NOT_SUPPORTED.
    fn cuCtxCreate_v4(out: Out<Handle>, parameters: Host, _flags: u32, device: i32) {
        let mut state = state::ready()?;
        let device = state.device(device)?;
        if parameters.address() != 0 {
            return Err(Code::NOT_SUPPORTED);
        }
        let handle = state.create_context(device);
        out.put(handle)?;
        context::push(handle)
    }

    /// A primary context is not this function's to end: INVALID_CONTEXT.
    fn cuCtxDestroy_v2(handle: Handle) {
        {
            let state = state::ready()?;
            if primary(state.living(handle)?.device) == handle {
                return Err(Code::INVALID_CONTEXT);
            }
        }
        if context::top() == handle {
            context::pop();
        }
        end(handle)
    }

    fn cuCtxGetCurrent(out: Out<Handle>) {
        drop(state::ready()?);
        out.put(context::top())
    }

    fn cuCtxSetCurrent(handle: Handle) {
        let state = state::ready()?;
        if handle != 0 {
            state.living(handle)?;
        }
        context::replace_top(handle)
    }

    fn cuCtxPushCurrent_v2(handle: Handle) {
        state::ready()?.living(handle)?;
        context::push(handle)
    }

    /// INVALID_CONTEXT for an empty stack. The former context is an optional output.
    fn cuCtxPopCurrent_v2(out: Out<Handle>) {
        drop(state::ready()?);
        let popped = context::pop().ok_or(Code::INVALID_CONTEXT)?;
        out.put_if_given(popped);
        Ok(())
    }

    fn cuCtxGetDevice(out: Out<i32>) {
        let state = state::ready()?;
        let current = state.current()?;
        out.put(state.living(current)?.device as i32)
    }

    /// Null means the current context. A context that is gone is told as such, as on an H200 with
    /// driver 580.
    fn cuCtxGetId(handle: Handle, out: Out<u64>) {
        let state = state::ready()?;
        let handle = if handle == 0 { state.current()? } else { handle };
        let context = state.living(handle).map_err(|_| Code::CONTEXT_IS_DESTROYED)?;
        out.put(context.id)
    }

    fn cuCtxSynchronize() {
        let begun = clock::now();
        let (current, tail) = {
            let mut state = state::ready()?;
            let current = state.current()?;
            state.none_capturing(current)?;
            state.unsafe_call()?;
            (current, state.context_tail(current))
        };
        executor::settle(current, tail)?;
        observer::waited(On::Context, current, None, begun);
        Ok(())
    }

    /// Scheduling flags change how a host thread waits, which is not simulated.
    fn cuCtxSetFlags(_flags: u32) {
        state::ready()?.current().map(drop)
    }

    /// UNSUPPORTED_LIMIT for one that the device lacks.
    fn cuCtxGetLimit(out: Out<usize>, limit: i32) {
        let state = state::ready()?;
        let context = state.living(state.current()?)?;
        out.put(*context.limits.get(limit as usize).ok_or(Code::UNSUPPORTED_LIMIT)?)
    }

    /// The values are kept and have no effect.
    fn cuCtxSetLimit(limit: i32, value: usize) {
        let mut state = state::ready()?;
        let current = state.current()?;
        let context = state.contexts.get_mut(&current).ok_or(Code::INVALID_CONTEXT)?;
        *context.limits.get_mut(limit as usize).ok_or(Code::UNSUPPORTED_LIMIT)? = value;
        Ok(())
    }

    fn cuCtxGetCacheConfig(out: Out<i32>) {
        let state = state::ready()?;
        out.put(state.living(state.current()?)?.cache)
    }

    fn cuCtxSetCacheConfig(cache: i32) {
        let mut state = state::ready()?;
        let current = state.current()?;
        let context = state.contexts.get_mut(&current).ok_or(Code::INVALID_CONTEXT)?;
        if !(0..=3).contains(&cache) {
            return Err(Code::INVALID_VALUE);
        }
        context.cache = cache;
        Ok(())
    }

    /// Both outputs are optional; a greater priority is a smaller number.
    fn cuCtxGetStreamPriorityRange(least: Out<i32>, greatest: Out<i32>) {
        state::ready()?.current()?;
        least.put_if_given(0);
        greatest.put_if_given(-5);
        Ok(())
    }
}

/// Works the queue off and ends the context. Its stored error, if any, ends with it.
fn end(handle: Handle) -> Answer {
    executor::drain_then(|| state::lock().destroy_context(handle));
    Ok(())
}
