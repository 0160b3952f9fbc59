//! The activity API: which records are enabled, and the buffers that hold them.

use super::cupti_functions;
use crate::abi::{BufferPtr, Complete, Out, Request};
use crate::result_codes::{Answer, Code};
use crate::{buffers, call_records, driver, kinds, state};

/// `CUPTI_ACTIVITY_FLAG_FLUSH_FORCED`.
const FORCED: u32 = 1;
/// `CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER`, an `uint8_t`.
const ZEROED_OUT_ACTIVITY_BUFFER: u32 = 5;

cupti_functions! {
    fn cuptiActivityRegisterCallbacks(request: Option<Request>, complete: Option<Complete>) {
        let both = request.zip(complete).ok_or(Code::INVALID_PARAMETER)?;
        state::lock().callbacks = Some(both);
        Ok(())
    }

    /// Only the attribute for zeroed buffers is simulated.
    fn cuptiActivitySetAttribute(attribute: u32, size: Out<usize>, value: BufferPtr) {
        let mut bytes = 0;
        size.exchange(|given| {
            bytes = given;
            Ok(given)
        })?;
        if attribute != ZEROED_OUT_ACTIVITY_BUFFER || bytes != 1 || value.is_null() {
            return Err(Code::INVALID_PARAMETER);
        }
        state::lock().zeroed = !value.is_zero(1);
        Ok(())
    }

    /// NOT_INITIALIZED without a simulated driver.
    fn cuptiActivityEnable(kind: u32) {
        driver::now()?;
        state::lock().enabled.enable(kind)?;
        driver::set_observer(Some(call_records::on_driver_call))
    }

    fn cuptiActivityDisable(kind: u32) {
        let nothing = {
            let mut state = state::lock();
            state.enabled.disable(kind)?;
            state.enabled.is_empty() && state.pc_sampling.is_empty()
        };
        if nothing { driver::set_observer(None) } else { Ok(()) }
    }

    /// Unknown callback ids are accepted.
    fn cuptiActivityEnableDriverApi(cbid: u32, enable: u8) {
        state::lock().enabled.choose(kinds::DRIVER, cbid, enable != 0);
        Ok(())
    }

    /// As [`cuptiActivityEnableDriverApi`].
    fn cuptiActivityEnableRuntimeApi(cbid: u32, enable: u8) {
        state::lock().enabled.choose(kinds::RUNTIME, cbid, enable != 0);
        Ok(())
    }

    /// Does not wait for the device. A forced flush also returns unfinished records, without time
    /// stamps.
    fn cuptiActivityFlushAll(flags: u32) {
        buffers::flush(driver::now()?, flags & FORCED != 0);
        Ok(())
    }

    /// In ms; 0 means never.
    fn cuptiActivityFlushPeriod(ms: u32) {
        let now = driver::now()?;
        let mut state = state::lock();
        state.period = u64::from(ms) * 1_000_000;
        state.last_flush = now;
        Ok(())
    }

    /// The record after the given one, or the first. MAX_LIMIT_REACHED at the end, INVALID_KIND if
    /// there is no complete record.
    fn cuptiActivityGetNextRecord(buffer: BufferPtr, valid: usize, record: Out<BufferPtr>) {
        if buffer.is_null() {
            return Err(Code::INVALID_PARAMETER);
        }
        record.exchange(|former| {
            let at = if former.is_null() { 0 } else {
                let at = former.offset_from(buffer).ok_or(Code::INVALID_PARAMETER)?;
                at + length(buffer, at, valid)?
            };
            if at >= valid {
                return Err(Code::MAX_LIMIT_REACHED);
            }
            length(buffer, at, valid)?;
            Ok(buffer.at(at))
        })
    }

    /// Since the last call. No present version uses context and stream.
    fn cuptiActivityGetNumDroppedRecords(_context: usize, _stream: u32, dropped: Out<usize>) {
        let mut state = state::lock();
        dropped.write(state.dropped as usize)?;
        state.dropped = 0;
        Ok(())
    }
}

/// The size of the complete record at offset `at`.
fn length(buffer: BufferPtr, at: usize, valid: usize) -> Answer<usize> {
    if at + 4 > valid {
        return Err(Code::INVALID_KIND);
    }
    let version = state::lock().version;
    let size = version
        .size(buffer.at(at).record_kind())
        .ok_or(Code::INVALID_KIND)?;
    if at + size > valid {
        return Err(Code::INVALID_KIND);
    }
    Ok(size)
}
