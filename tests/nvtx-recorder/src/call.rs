//! A recorded NVTX call: the plain data that the injected library writes and the test process
//! reads.

use serde::{Deserialize, Serialize};

/// Which NVTX function was called; the A, W and Ex forms are one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// `nvtxInitialize`, whose call is optional.
    Initialize,
    /// `nvtxDomainCreate*`; [`Call::name`] and [`Call::domain`] are the new domain's name.
    DomainCreate,
    /// `nvtxDomainDestroy`.
    DomainDestroy,
    /// `nvtxDomainRegisterString*`; [`Call::name`] is the text.
    RegisterString,
    /// `nvtxNameCategory*`, `nvtxDomainNameCategory*`; [`Call::category`] gets the name
    /// [`Call::name`].
    NameCategory,
    /// `nvtxNameOsThread*`; the thread [`Call::id`] gets the name [`Call::name`].
    NameThread,
    /// `nvtxRangePush*`, `nvtxDomainRangePushEx`; [`Call::level`] is the depth it opens.
    Push,
    /// `nvtxRangePop`, `nvtxDomainRangePop`; [`Call::level`] is the depth it closes.
    Pop,
    /// `nvtxRangeStart*`, `nvtxDomainRangeStartEx`; [`Call::id`] is the range.
    Start,
    /// `nvtxRangeEnd`, `nvtxDomainRangeEnd`; [`Call::id`] is the range.
    End,
    /// `nvtxMark*`, `nvtxDomainMarkEx`.
    Mark,
}

/// The type of a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PayloadType {
    /// `NVTX_PAYLOAD_TYPE_UNSIGNED_INT64`
    U64,
    /// `NVTX_PAYLOAD_TYPE_INT64`
    I64,
    /// `NVTX_PAYLOAD_TYPE_DOUBLE`
    F64,
    /// `NVTX_PAYLOAD_TYPE_UNSIGNED_INT32`
    U32,
    /// `NVTX_PAYLOAD_TYPE_INT32`
    I32,
    /// `NVTX_PAYLOAD_TYPE_FLOAT`
    F32,
}

/// One recorded call, which is one line of the log. Lines are in call order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// The NVTX function.
    pub op: Op,
    /// The calling thread's operating-system id (`gettid` on Linux).
    pub thread: u64,
    /// The domain's name; `None` is NVTX's default domain.
    pub domain: Option<String>,
    /// The message of a range or mark, or the name given; registered strings as their text.
    pub name: Option<String>,
    /// True if the message was a registered string, which nsys's capture ranges require.
    pub registered: bool,
    /// Colour as 0xAARRGGBB.
    pub color: Option<u32>,
    /// Category id; `None` for NVTX's 0, "no category".
    pub category: Option<u32>,
    /// Payload value. `None` without a payload, and for a NaN or an infinity, which JSON cannot
    /// hold.
    pub payload: Option<serde_json::Number>,
    /// Payload type; `None` without a payload.
    pub payload_type: Option<PayloadType>,
    /// The range of [`Op::Start`] and [`Op::End`], unique in the process; the thread of
    /// [`Op::NameThread`].
    pub id: Option<u64>,
    /// Depth of [`Op::Push`] and [`Op::Pop`] on this thread in this domain: 0 is the outermost
    /// range, −1 a pop without a push. `None` once the thread is being torn down.
    pub level: Option<i32>,
}

impl Call {
    /// A call with only the fields that every call has.
    pub(crate) fn new(op: Op, thread: u64, domain: Option<String>) -> Call {
        Call {
            op,
            thread,
            domain,
            name: None,
            registered: false,
            color: None,
            category: None,
            payload: None,
            payload_type: None,
            id: None,
            level: None,
        }
    }
}
