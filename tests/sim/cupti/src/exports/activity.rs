//! The activity API: which records are enabled, and the buffers that hold them.

use super::cupti_functions;
use crate::abi::{
    BufferCallbacks, BufferPtr, Complete, Out, Request, SubscriberComplete, SubscriberRequest,
};
use crate::clients::Client;
use crate::result_codes::{Answer, Code};
use crate::state::State;
use crate::{buffers, call_records, driver, kernel_records, kinds, state};

/// `CUPTI_ACTIVITY_FLAG_FLUSH_FORCED`.
const FORCED: u32 = 1;
/// `CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER`, an `uint8_t`.
const ZEROED_OUT_ACTIVITY_BUFFER: u32 = 5;
/// `CUPTI_ACTIVITY_ATTR_ENABLE_MULTI_SUBSCRIBER_GRAPH_TRACE`, an `uint8_t`.
const MULTI_SUBSCRIBER_GRAPH_TRACE: u32 = 20;

cupti_functions! {
    fn cuptiActivityRegisterCallbacks(request: Option<Request>, complete: Option<Complete>) {
        let (request, complete) = request.zip(complete).ok_or(Code::INVALID_PARAMETER)?;
        let callbacks = BufferCallbacks::Process(request, complete);
        state::lock().process()?.callbacks = Some(callbacks);
        Ok(())
    }

    fn cuptiActivityRegisterCallbacks_v2(
        subscriber: usize,
        request: Option<SubscriberRequest>,
        complete: Option<SubscriberComplete>,
    ) {
        let (request, complete) = request.zip(complete).ok_or(Code::INVALID_PARAMETER)?;
        let callbacks = BufferCallbacks::Subscriber(request, complete);
        state::lock().subscriber(subscriber)?.callbacks = Some(callbacks);
        Ok(())
    }

    /// Only the attribute for zeroed buffers is simulated.
    fn cuptiActivitySetAttribute(attribute: u32, size: Out<usize>, value: BufferPtr) {
        set_attribute(state::lock().process()?, attribute, size, value)
    }

    /// As [`cuptiActivitySetAttribute`], and that for graphs as a whole, of all subscribers:
    /// INVALID_OPERATION once a kind is enabled.
    fn cuptiActivitySetAttribute_v2(
        subscriber: usize,
        attribute: u32,
        size: Out<usize>,
        value: BufferPtr,
    ) {
        if attribute == MULTI_SUBSCRIBER_GRAPH_TRACE {
            let mut state = state::lock();
            state.subscriber(subscriber)?;
            if value.is_null() || !state.is_idle() {
                return Err(Code::INVALID_OPERATION);
            }
            state.hides_graph_nodes = !value.is_zero(1);
            return Ok(());
        }
        set_attribute(state::lock().subscriber(subscriber)?, attribute, size, value)
    }

    /// Only the attribute for graphs as a whole is simulated.
    fn cuptiActivityGetAttribute_v2(
        subscriber: usize,
        attribute: u32,
        size: Out<usize>,
        value: Out<u8>,
    ) {
        let mut state = state::lock();
        state.subscriber(subscriber)?;
        if attribute != MULTI_SUBSCRIBER_GRAPH_TRACE {
            return Err(Code::INVALID_PARAMETER);
        }
        size.write(1)?;
        value.write(state.hides_graph_nodes.into())
    }

    /// NOT_INITIALIZED without a simulated driver.
    fn cuptiActivityEnable(kind: u32) {
        driver::now()?;
        kernel_records::while_enabling(kind, || state::lock().process()?.enabled.enable(kind))?;
        driver::set_observer(Some(call_records::on_driver_call))
    }

    /// NOT_INITIALIZED without a simulated driver. The configuration must be null.
    fn cuptiActivityEnable_v2(subscriber: usize, kind: u32, configuration: BufferPtr) {
        driver::now()?;
        check_configuration(configuration)?;
        let enable = || state::lock().subscriber(subscriber)?.enabled.enable(kind);
        kernel_records::while_enabling(kind, enable)?;
        driver::set_observer(Some(call_records::on_driver_call))
    }

    fn cuptiActivityDisable(kind: u32) {
        disable(kind, State::process)
    }

    /// The configuration must be null.
    fn cuptiActivityDisable_v2(subscriber: usize, kind: u32, configuration: BufferPtr) {
        check_configuration(configuration)?;
        disable(kind, |state| state.subscriber(subscriber))
    }

    /// Unknown callback ids are accepted.
    fn cuptiActivityEnableDriverApi(cbid: u32, enable: u8) {
        state::lock().process()?.enabled.choose(kinds::DRIVER, cbid, enable != 0);
        Ok(())
    }

    /// As [`cuptiActivityEnableDriverApi`].
    fn cuptiActivityEnableRuntimeApi(cbid: u32, enable: u8) {
        state::lock().process()?.enabled.choose(kinds::RUNTIME, cbid, enable != 0);
        Ok(())
    }

    /// Of all clients. Does not wait for the device. A forced flush also returns unfinished
    /// records, without time stamps.
    fn cuptiActivityFlushAll(flags: u32) {
        buffers::flush(driver::now()?, flags & FORCED != 0);
        Ok(())
    }

    /// In ms; 0 means never.
    fn cuptiActivityFlushPeriod(ms: u32) {
        let now = driver::now()?;
        let mut state = state::lock();
        state.process()?;
        state.period = u64::from(ms) * 1_000_000;
        state.last_flush = now;
        Ok(())
    }

    /// The record after the given one, or the first. MAX_LIMIT_REACHED at the end, INVALID_KIND if
    /// there is no complete record.
    fn cuptiActivityGetNextRecord(buffer: BufferPtr, valid: usize, record: Out<BufferPtr>) {
        state::lock().process()?;
        next_record(buffer, valid, record)
    }

    /// As [`cuptiActivityGetNextRecord`].
    fn cuptiActivityGetNextRecord_v2(
        subscriber: usize,
        buffer: BufferPtr,
        valid: usize,
        record: Out<BufferPtr>,
    ) {
        state::lock().subscriber(subscriber)?;
        next_record(buffer, valid, record)
    }

    /// Since the last call. No present version uses context and stream.
    fn cuptiActivityGetNumDroppedRecords(_context: usize, _stream: u32, dropped: Out<usize>) {
        take_dropped(state::lock().process()?, dropped)
    }

    /// As [`cuptiActivityGetNumDroppedRecords`].
    fn cuptiActivityGetNumDroppedRecords_v2(
        subscriber: usize,
        _context: usize,
        _stream: u32,
        dropped: Out<usize>,
    ) {
        take_dropped(state::lock().subscriber(subscriber)?, dropped)
    }
}

fn set_attribute(
    client: &mut Client,
    attribute: u32,
    size: Out<usize>,
    value: BufferPtr,
) -> Answer {
    let mut bytes = 0;
    size.exchange(|given| {
        bytes = given;
        Ok(given)
    })?;
    if attribute != ZEROED_OUT_ACTIVITY_BUFFER || bytes != 1 || value.is_null() {
        return Err(Code::INVALID_PARAMETER);
    }
    client.zeroed = !value.is_zero(1);
    Ok(())
}

/// Selected fields are not simulated.
fn check_configuration(configuration: BufferPtr) -> Answer {
    if configuration.is_null() {
        Ok(())
    } else {
        Err(Code::NOT_SUPPORTED)
    }
}

fn disable(kind: u32, client: impl FnOnce(&mut State) -> Answer<&mut Client>) -> Answer {
    let is_idle = {
        let mut state = state::lock();
        client(&mut state)?.enabled.disable(kind)?;
        if state
            .clients
            .iter()
            .all(|of| of.enabled.kernels().is_none())
        {
            state.known_kernels.record_no_more();
        }
        state.is_idle()
    };
    if is_idle {
        driver::set_observer(None)
    } else {
        Ok(())
    }
}

fn next_record(buffer: BufferPtr, valid: usize, record: Out<BufferPtr>) -> Answer {
    if buffer.is_null() {
        return Err(Code::INVALID_PARAMETER);
    }
    record.exchange(|former| {
        let at = if former.is_null() {
            0
        } else {
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

fn take_dropped(client: &mut Client, dropped: Out<usize>) -> Answer {
    dropped.write(client.dropped as usize)?;
    client.dropped = 0;
    Ok(())
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
