//! Safe wrappers of the driver functions that gpuprof calls, one method each on [`Driver`].

use std::ffi::{CStr, c_int, c_uint};

use crate::driver::handles::{Context, CuDevice, Event, Stream};
use crate::driver::table::{CAPTURE_IMPLICIT, CONTEXT_IS_DESTROYED, Driver, FailedCall, NOT_READY};

/// `CU_STREAM_CAPTURE_MODE_RELAXED`.
const MODE_RELAXED: c_int = 2;
/// Times that a thread's capture mode is tried to be exchanged.
const EXCHANGE_TRIES: u32 = 3;
/// `CU_STREAM_NON_BLOCKING`.
const NON_BLOCKING: c_uint = 1;
/// `CU_EVENT_DEFAULT`: timed.
const EVENT_DEFAULT: c_uint = 0;

impl Driver {
    /// The calling thread's current context, null if there is none.
    #[inline]
    pub(crate) fn current(&self) -> Result<Context, FailedCall> {
        let mut context = Context::NULL;
        self.ctx_get_current(&raw mut context)?;
        Ok(context)
    }

    /// Undoes the latest [`push`](Self::push).
    pub(crate) fn pop(&self) -> Result<(), FailedCall> {
        let mut context = Context::NULL;
        self.ctx_pop(&raw mut context)
    }

    /// Device of the current context.
    pub(crate) fn device(&self) -> Result<CuDevice, FailedCall> {
        let mut device = CuDevice(0);
        self.ctx_get_device(&raw mut device)?;
        Ok(device)
    }

    /// A number that no other context of the process ever has, where the driver knows one.
    pub(crate) fn context_id(&self, context: Context) -> Option<u64> {
        let mut id = 0;
        self.ctx_get_id(context, &raw mut id).ok().map(|()| id)
    }

    /// `Ok` where `context` is still the one that had this number. That it is not is an answer, and
    /// not counted.
    pub(crate) fn check_life(&self, context: Context, id: u64) -> Result<(), FailedCall> {
        let mut found = 0;
        self.ctx_get_id(context, &raw mut found)?;
        if found == id {
            Ok(())
        } else {
            Err(FailedCall(CONTEXT_IS_DESTROYED))
        }
    }

    /// The context of a stream.
    pub(crate) fn context_of(&self, stream: Stream) -> Result<Context, FailedCall> {
        let mut context = Context::NULL;
        self.stream_get_ctx(stream, &raw mut context)?;
        Ok(context)
    }

    /// Whether `stream` is being captured, or cannot be told apart from one that is.
    #[inline]
    pub(crate) fn is_capturing(&self, stream: Stream) -> Result<bool, FailedCall> {
        let mut status: c_int = 0;
        match self.stream_is_capturing(stream, &raw mut status) {
            Ok(()) => Ok(status != 0),
            Err(FailedCall(CAPTURE_IMPLICIT)) => Ok(true),
            Err(failed) => Err(failed),
        }
    }

    /// A timed event of the current context.
    pub(crate) fn create_event(&self) -> Result<Event, FailedCall> {
        let mut event = Event::NULL;
        self.event_create(&raw mut event, EVENT_DEFAULT)?;
        Ok(event)
    }

    /// Whether the GPU has passed a recorded event.
    pub(crate) fn is_complete(&self, event: Event) -> Result<bool, FailedCall> {
        match self.event_query(event) {
            Ok(()) => Ok(true),
            Err(FailedCall(NOT_READY)) => Ok(false),
            Err(failed) => Err(failed),
        }
    }

    /// Nanoseconds between two completed events of one device. The driver answers in float32
    /// milliseconds.
    pub(crate) fn elapsed_ns(&self, start: Event, end: Event) -> Result<u64, FailedCall> {
        self.offset_ns(start, end)
            .map(|ns| ns.max(0).unsigned_abs())
    }

    /// The same, negative if `event` was completed before `from`.
    pub(crate) fn offset_ns(&self, from: Event, event: Event) -> Result<i64, FailedCall> {
        let mut ms = 0.0_f32;
        self.event_elapsed(&raw mut ms, from, event)?;
        Ok((f64::from(ms) * 1e6).round() as i64)
    }

    /// A new non-blocking stream of the current context, for gpuprof's own use.
    pub(crate) fn create_stream(&self) -> Result<Stream, FailedCall> {
        let mut stream = Stream::NULL;
        self.stream_create(&raw mut stream, NON_BLOCKING)?;
        Ok(stream)
    }

    /// Runs `f` with the calling thread in RELAXED capture mode, so that nothing in it can disturb
    /// a capture elsewhere. `Err`: the thread could not be put in that mode, so `f` did not run.
    pub(crate) fn relaxed<R>(&self, f: impl FnOnce() -> R) -> Result<R, FailedCall> {
        let mut mode = MODE_RELAXED;
        self.exchange(&mut mode)?;
        let result = f();
        // A failure is counted. It leaves the thread in a mode in which less is prohibited, and
        // nothing else could end that.
        let _ = self.exchange(&mut mode);
        Ok(result)
    }

    /// Tried again, as the thread must not keep a mode that is not its own.
    fn exchange(&self, mode: &mut c_int) -> Result<(), FailedCall> {
        let mut exchanged = Err(FailedCall(NOT_READY));
        for _ in 0..EXCHANGE_TRIES {
            exchanged = self.exchange_capture_mode(&raw mut *mode);
            if exchanged.is_ok() {
                break;
            }
        }
        exchanged
    }

    /// One attribute of a device.
    pub(crate) fn attribute(&self, attribute: c_int, device: CuDevice) -> Result<u64, FailedCall> {
        let mut value = 0;
        self.device_get_attribute(&raw mut value, attribute, device)?;
        Ok(u64::try_from(value).unwrap_or(0))
    }

    /// Name of a device.
    pub(crate) fn device_name(&self, device: CuDevice) -> Result<String, FailedCall> {
        let mut name = [0_u8; 256];
        self.device_get_name(name.as_mut_ptr().cast(), 255, device)?;
        Ok(CStr::from_bytes_until_nul(&name)
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default())
    }

    /// UUID of a device.
    pub(crate) fn device_uuid(&self, device: CuDevice) -> Result<[u8; 16], FailedCall> {
        let mut uuid = [0; 16];
        self.device_get_uuid(&raw mut uuid, device)?;
        Ok(uuid)
    }

    /// Memory of a device in bytes.
    pub(crate) fn device_memory(&self, device: CuDevice) -> Result<u64, FailedCall> {
        let mut bytes = 0;
        self.device_total_mem(&raw mut bytes, device)?;
        Ok(bytes as u64)
    }

    /// CUDA version of the driver, for example 13000.
    pub(crate) fn version(&self) -> Result<u32, FailedCall> {
        let mut version: c_int = 0;
        self.driver_get_version(&raw mut version)?;
        Ok(version.unsigned_abs())
    }
}
