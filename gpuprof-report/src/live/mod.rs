//! What a running program and a viewer say to each other over the socket of `GPUPROF_LIVE`.
//!
//! Both send frames: a length of four bytes, the most significant first, and so many bytes. A
//! request is one frame of text ([`Request`]); it has no JSON, so that the program needs no reader
//! of it. An answer begins with a frame of JSON, the [`Head`]:
//!
//! | request | the answer's other frames |
//! |---|---|
//! | `hello` | none |
//! | `changes` | one: [`Changes`] since this connection's last one |
//! | `snapshot` | the profile's JSON in parts, and an empty frame as its end |
//! | `look PARTS` | none; the program, which is in standby, records until the connection ends |
//! | `snapshot MS` | as `snapshot`, of the look when it is so long; the look is over then |
//! | `trace MS FORMAT` | the time line in parts, and an empty frame as its end |
//!
//! A viewer that shuts down its side while it waits for a time line, or for the end of its look,
//! gets what there is by then.
//!
//! An answer whose head has an `error` has no other frames.

mod changes;
mod folder;
mod frame;
mod head;
mod request;
mod rows;

pub use self::changes::{Changes, Sent};
pub use self::folder::{FolderError, check_folder, folder_path, pid_of, socket_name};
pub use self::frame::{
    DocumentWriter, MAX_DOCUMENT_BYTES, MAX_FRAME_BYTES, PART_BYTES, read_document, read_frame,
    write_frame,
};
pub use self::head::{Head, PROTOCOL};
#[cfg(feature = "serde")]
pub use self::head::{UnreadableAnswer, from_json};
pub use self::request::{Look, MAX_REQUEST_BYTES, MAX_TRACE_MS, Request, RequestError};
pub use self::rows::{DeviceRow, FunctionRow, LiveRows, ThreadRow};
