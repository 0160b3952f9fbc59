//! gpuprof's subscription, and CUPTI's calls about activities, of which libcupti has two sets: one
//! for the whole process and, since libcupti 13.3, one for each of several subscribers.
//!
//! libcupti refuses one set once the other was used, so the first subscription decides for the rest
//! of the process.

use std::ffi::{CStr, c_void};
use std::mem::offset_of;
use std::ptr;
use std::sync::atomic::Ordering::Relaxed;

use super::bindings::{
    ATTR_GRAPHS_AS_ONE, ATTR_ZEROED_BUFFERS, CuptiCallback, CuptiResult, MIN_HOLDER_BYTES,
    Subscriber, SubscriberParams,
};
use super::buffers;
use super::library::{CallError, CuptiLibrary};
use super::own_subscription::CallSet;
use super::unavailable_reason::CuptiUnavailable;

/// Not a `CUptiResult`: a call of a subscriber while gpuprof is none.
const NOT_SUBSCRIBED: CuptiResult = -2;

/// Bytes of `CUpti_SubscriberParams` before CUDA 13.3: libcupti 13.0 refuses more.
const FIRST_PARAMS_BYTES: usize = offset_of!(SubscriberParams, allow_multiple);

impl CuptiLibrary {
    /// Subscribes under gpuprof's name, if the library takes one: beside other profilers if
    /// `may_share` and library, driver and the others allow it, otherwise as the only one.
    pub(super) fn subscribe_by_name(
        &self,
        callback: CuptiCallback,
        data: *mut c_void,
        may_share: bool,
    ) -> Result<(), CuptiUnavailable> {
        let mut handle = ptr::null_mut();
        let mut holder = [0_u8; MIN_HOLDER_BYTES];
        let mut named = |allow_multiple, bytes| {
            let mut params = SubscriberParams {
                bytes,
                name: c"gpuprof".as_ptr(),
                holder: holder.as_mut_ptr().cast(),
                holder_bytes: holder.len(),
                allow_multiple,
                padding: [0; 7],
            };
            self.subscribe_v2(&raw mut handle, callback, data, &raw mut params)
        };
        let decided = self.own.set();
        let shares = match decided {
            Some(set) => set == CallSet::Subscriber,
            None => may_share && self.has_subscriber_calls,
        };
        let shared = shares.then(|| named(1, size_of::<SubscriberParams>()));
        let (set, result) = match shared {
            Some(result) if result.is_ok() || decided.is_some() => (CallSet::Subscriber, result),
            // With an older driver, or if a profiler that does not share came first.
            _ if self.takes_names() => (CallSet::Process, named(0, FIRST_PARAMS_BYTES)),
            _ => {
                let result = self.subscribe(&raw mut handle, callback, data);
                (CallSet::Process, result)
            }
        };
        if let Err(error) = result {
            let holder = CStr::from_bytes_until_nul(&holder).unwrap_or_default();
            return Err(self.refused(error, holder.to_string_lossy().into_owned()));
        }
        self.own.begin(set, handle);
        Ok(())
    }

    /// Ends the subscription. libcupti then drops the buffers of a subscriber that it still holds.
    pub(super) fn leave(&self) {
        let handle = self.own.end();
        let _ = self.unsubscribe(handle);
    }

    /// Whether buffers that libcupti has not returned are lost when gpuprof leaves.
    pub(super) fn keeps_buffers(&self) -> bool {
        self.own.set() == Some(CallSet::Subscriber)
    }

    /// Enables or disables a callback.
    pub(super) fn set_callback(
        &self,
        is_enabled: bool,
        domain: u32,
        cbid: u32,
    ) -> Result<(), CallError> {
        let handle = self.own.handle();
        self.enable_callback(is_enabled.into(), handle, domain, cbid)
    }

    /// Has CUPTI take its buffers from the pool and return them to it.
    pub(super) fn register_buffers(&self) -> Result<(), CallError> {
        match self.subscriber()? {
            None => {
                self.register_callbacks(buffers::on_buffer_requested, buffers::on_buffer_completed)
            }
            Some(handle) => self.register_callbacks_v2(
                handle,
                buffers::on_own_buffer_requested,
                buffers::on_own_buffer_completed,
            ),
        }
    }

    /// Whether gpuprof zeroes the buffers, so that CUPTI need not.
    pub(super) fn set_zeroed_buffers(&self, are_zeroed: bool) -> Result<(), CallError> {
        let (mut bytes, mut value) = (size_of::<u8>(), u8::from(are_zeroed));
        let (bytes, value) = (&raw mut bytes, (&raw mut value).cast());
        match self.subscriber()? {
            None => self.set_attribute(ATTR_ZEROED_BUFFERS, bytes, value),
            Some(handle) => self.set_attribute_v2(handle, ATTR_ZEROED_BUFFERS, bytes, value),
        }
    }

    /// Asks whether CUPTI records the nodes of graphs, once gpuprof records activities.
    pub(super) fn look_for_hidden_nodes(&self) {
        let (mut bytes, mut value) = (size_of::<u8>(), 0_u8);
        if let Ok(Some(handle)) = self.subscriber() {
            let (bytes, out) = (&raw mut bytes, (&raw mut value).cast());
            let _ = self.get_attribute_v2(handle, ATTR_GRAPHS_AS_ONE, bytes, out);
        }
        self.own.hides_graph_nodes.store(value == 1, Relaxed);
    }

    /// Records a kind of activity.
    pub(super) fn enable(&self, kind: u32) -> Result<(), CallError> {
        match self.subscriber()? {
            None => self.activity_enable(kind),
            Some(handle) => self.activity_enable_v2(handle, kind, ptr::null_mut()),
        }
    }

    /// Ends [`enable`](Self::enable).
    pub(super) fn disable(&self, kind: u32) -> Result<(), CallError> {
        match self.subscriber()? {
            None => self.activity_disable(kind),
            Some(handle) => self.activity_disable_v2(handle, kind, ptr::null_mut()),
        }
    }

    /// Has CUPTI return its buffers: those of all subscribers.
    pub(super) fn flush(&self, flags: u32) -> Result<(), CallError> {
        self.subscriber()?;
        self.flush_all(flags)
    }

    /// The record after `record`; the first for null.
    pub(super) fn next_record(
        &self,
        buffer: *mut u8,
        valid: usize,
        record: *mut *mut u8,
    ) -> Result<(), CallError> {
        match self.subscriber()? {
            None => self.get_next_record(buffer, valid, record),
            Some(handle) => self.get_next_record_v2(handle, buffer, valid, record),
        }
    }

    /// The records that were dropped since the last call.
    pub(super) fn take_dropped(&self) -> Result<u64, CallError> {
        let mut dropped = 0;
        let out = &raw mut dropped;
        match self.subscriber()? {
            None => self.num_dropped(ptr::null_mut(), 0, out),
            Some(handle) => self.num_dropped_v2(handle, ptr::null_mut(), 0, out),
        }?;
        Ok(dropped as u64)
    }

    /// The present time of the records' clock in ns.
    pub(super) fn timestamp(&self) -> Result<u64, CallError> {
        let mut now = 0;
        match self.subscriber()? {
            None => self.get_timestamp(&raw mut now),
            Some(handle) => self.get_timestamp_v2(handle, &raw mut now),
        }?;
        Ok(now)
    }

    /// The handle for the calls of a subscriber; `None` if those of the process are used. Another
    /// thread may unsubscribe it meanwhile: libcupti looks handles up, and refuses an old one.
    fn subscriber(&self) -> Result<Option<Subscriber>, CallError> {
        if !self.keeps_buffers() {
            return Ok(None);
        }
        let handle = self.own.handle();
        if handle.is_null() {
            return Err(CallError {
                call: "cuptiSubscribe_v2",
                status: NOT_SUBSCRIBED,
            });
        }
        Ok(Some(handle))
    }
}
