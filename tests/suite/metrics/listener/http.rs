//! A client of HTTP that sends what it is told.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: String,
    headers: String,
    /// As text; `bytes` are what came.
    pub(crate) body: String,
    pub(crate) bytes: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self
            .headers
            .lines()
            .filter_map(|line| line.split_once(": "));
        let found = lines.find(|(header, _)| header.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value)
    }
}

pub(crate) fn connect(port: u16) -> TcpStream {
    TcpStream::connect(("127.0.0.1", port)).expect("somebody listens")
}

/// `GET path`.
pub(crate) fn get(port: u16, path: &str) -> Answer {
    exchange(
        port,
        format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes(),
    )
}

/// Sends `request` and reads to the end.
pub(crate) fn exchange(port: u16, request: &[u8]) -> Answer {
    let mut stream = connect(port);
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .expect("a limit");
    stream.write_all(request).expect("sent");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an answer");
    let text = String::from_utf8_lossy(&answer);
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    let bytes = answer[head.len() + 4..].to_vec();
    let (status, headers) = head.split_once("\r\n").expect("headers");
    Answer {
        status: status.to_owned(),
        headers: headers.to_owned(),
        body: body.to_owned(),
        bytes,
    }
}
