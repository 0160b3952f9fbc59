//! A request to a server on this machine.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: String,
}

/// HTTP 1.0: no chunks, and the connection ends with the answer.
///
/// # Errors
/// A text for the user.
pub(super) fn request(
    port: u16,
    method: &str,
    target: &str,
    body: &[u8],
) -> Result<Answer, String> {
    let failed = |error: std::io::Error| format!("{method} {target} on port {port}: {error}");
    let mut stream = TcpStream::connect(("127.0.0.1", port)).map_err(failed)?;
    let limit = Some(Duration::from_secs(30));
    stream.set_read_timeout(limit).map_err(failed)?;
    let head = format!(
        "{method} {target} HTTP/1.0\r\nHost: 127.0.0.1\r\nContent-Type: text/plain; \
         version=0.0.4\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).map_err(failed)?;
    stream.write_all(body).map_err(failed)?;
    let mut text = String::new();
    stream.read_to_string(&mut text).map_err(failed)?;
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    Ok(Answer {
        status: status.ok_or_else(|| format!("{method} {target}: no status in {head:?}"))?,
        body: body.to_owned(),
    })
}

/// A port that is free now.
///
/// # Errors
/// A text for the user.
pub(super) fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind("127.0.0.1:0");
    let address = listener.and_then(|listener| listener.local_addr());
    address
        .map(|address| address.port())
        .map_err(|error| format!("no free port: {error}"))
}

/// The value of a query parameter.
pub(super) fn escaped(text: &str) -> String {
    let escape = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(escape).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_no_letter_or_digit_is_escaped() {
        assert_eq!(
            super::escaped("sum(a{b=\"c 1\"})"),
            "sum%28a%7Bb%3D%22c%201%22%7D%29"
        );
    }
}
