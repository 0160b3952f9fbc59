//! Fills a [`Call`] from NVTX's event attributes, which every range and mark has: message, colour,
//! category and payload.

use serde_json::Number;

use crate::abi::{self, EventAttributes};
use crate::call::{Call, PayloadType};
use crate::handles;

/// Copies `attributes` into `call`; a null pointer changes nothing.
///
/// # Safety
/// `attributes` must be null or point to a valid `nvtxEventAttributes_v2` whose message matches its
/// type.
pub(crate) unsafe fn describe(call: &mut Call, attributes: *const EventAttributes) {
    // SAFETY: null or valid, as the caller guarantees.
    let Some(attributes) = (unsafe { attributes.as_ref() }) else {
        return;
    };
    call.color = (attributes.color_type == abi::COLOR_ARGB).then_some(attributes.color);
    call.category = (attributes.category != 0).then_some(attributes.category);
    (call.payload_type, call.payload) = payload(attributes.payload_type, attributes.payload);
    call.registered = attributes.message_type == abi::MESSAGE_REGISTERED;
    // SAFETY: the message matches its type, as the caller guarantees.
    call.name = unsafe { message(attributes) };
}

/// The message as text.
///
/// # Safety
/// The message must match its type.
unsafe fn message(attributes: &EventAttributes) -> Option<String> {
    match attributes.message_type {
        abi::MESSAGE_ASCII => {
            // SAFETY: the message type selects this field.
            let text = unsafe { attributes.message.ascii };
            // SAFETY: a C string, as the caller guarantees.
            unsafe { handles::narrow(text) }
        }
        abi::MESSAGE_UNICODE => {
            // SAFETY: the message type selects this field.
            let text = unsafe { attributes.message.unicode };
            // SAFETY: a wide C string, as the caller guarantees.
            unsafe { handles::wide(text) }
        }
        abi::MESSAGE_REGISTERED => {
            // SAFETY: the message type selects this field.
            let handle = unsafe { attributes.message.registered };
            handles::resolve(handle)
        }
        _ => None,
    }
}

/// The payload by the numbers of `nvtxPayloadType_t`; a 32-bit value is in the first four bytes.
fn payload(kind: i32, bytes: [u8; 8]) -> (Option<PayloadType>, Option<Number>) {
    let [a, b, c, d, ..] = bytes;
    let low = [a, b, c, d];
    match kind {
        1 => (
            Some(PayloadType::U64),
            Some(u64::from_ne_bytes(bytes).into()),
        ),
        2 => (
            Some(PayloadType::I64),
            Some(i64::from_ne_bytes(bytes).into()),
        ),
        3 => (
            Some(PayloadType::F64),
            Number::from_f64(f64::from_ne_bytes(bytes)),
        ),
        4 => (Some(PayloadType::U32), Some(u32::from_ne_bytes(low).into())),
        5 => (Some(PayloadType::I32), Some(i32::from_ne_bytes(low).into())),
        6 => (
            Some(PayloadType::F32),
            Number::from_f64(f32::from_ne_bytes(low).into()),
        ),
        _ => (None, None),
    }
}
