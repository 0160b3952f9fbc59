//! What a viewer and a running program say to each other. An input is the content of frames, a line
//! each, so that a change of it is seldom one of a frame's length; the bytes of whole connections
//! are changed too.

use std::io::{Cursor, Write};

use gpuprof_report::live::{
    Changes, DocumentWriter, Head, MAX_FRAME_BYTES, MAX_REQUEST_BYTES, Request, Sent, ThreadRow,
    from_json, read_document, read_frame, write_frame,
};
use gpuprof_report::profile::{Function, Profile};

/// Requests as text, and a connection with all of them.
pub(crate) fn requests() -> Vec<Vec<u8>> {
    let requests = [
        "hello",
        "changes",
        "snapshot",
        "trace 500 json",
        "trace 5 pftrace",
    ];
    let mut all: Vec<Vec<u8>> = requests
        .iter()
        .map(|text| text.as_bytes().to_vec())
        .collect();
    let mut connection = Vec::new();
    for request in &all {
        write_frame(&mut connection, request).expect("memory");
    }
    all.push(connection);
    all
}

/// Each text is refused, or is what the request writes; and so are the frames of a connection.
pub(crate) fn request(input: &[u8]) {
    let check = |text: &[u8]| {
        if let Ok(request) = Request::parse(text) {
            assert_eq!(request.to_string().as_bytes(), text);
        }
    };
    check(input);
    let mut connection = Cursor::new(input);
    while let Ok(Some(text)) = read_frame(&mut connection, MAX_REQUEST_BYTES) {
        assert!(text.len() <= MAX_REQUEST_BYTES);
        check(&text);
    }
}

fn changes(calls: u64) -> String {
    let mut function = Function::default();
    function.name = "model::step".into();
    (function.calls, function.cpu.total_ns) = (calls, 100 * calls);
    let mut profile = Profile::default();
    profile.functions = vec![function];
    let mut thread = ThreadRow::default();
    (thread.tid, thread.calls) = (7, calls);
    thread.running = Some("model::step".into());
    Sent::default().changes(&profile, vec![thread]).to_json()
}

/// A head, changes, and a connection with both and a document.
pub(crate) fn answers() -> Vec<Vec<u8>> {
    let head = Head::new("train", 4_711).to_json().into_bytes();
    let refusal = Head::new("train", 4_711).with_error("try again").to_json();
    let mut connection = Vec::new();
    write_frame(&mut connection, &head).expect("memory");
    let mut document = DocumentWriter::new(&mut connection);
    document.write_all(changes(5).as_bytes()).expect("memory");
    document.end().expect("memory");
    vec![
        head,
        refusal.into_bytes(),
        changes(3).into_bytes(),
        connection,
    ]
}

/// Reads it as whatever it may be.
pub(crate) fn answer(input: &[u8]) {
    let read = |frame: &[u8]| {
        // Either is fine; what is read is written again as a program would write it.
        if let Ok(head) = from_json::<Head>(frame) {
            from_json::<Head>(head.to_json().as_bytes()).expect("it was read before");
        }
        if let Ok(changes) = from_json::<Changes>(frame) {
            let again = from_json::<Changes>(changes.to_json().as_bytes());
            assert_eq!(again.expect("it was read before"), changes);
        }
    };
    read(input);
    let mut connection = Cursor::new(input);
    if let Ok(Some(frame)) = read_frame(&mut connection, MAX_FRAME_BYTES) {
        read(&frame);
        let mut document = Vec::new();
        let bytes = read_document(&mut connection, &mut document);
        assert!(document.len() <= input.len());
        if let Ok(bytes) = bytes {
            assert_eq!(bytes, document.len() as u64);
            read(&document);
        }
    }
}
