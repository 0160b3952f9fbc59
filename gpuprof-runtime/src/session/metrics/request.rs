//! The few requests that are answered.

/// Bytes of a request's head, at most.
pub(super) const MAX_HEAD: usize = 8 << 10;

/// What a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// `GET /metrics`.
    Metrics,
    /// `GET /`.
    Index,
    /// Anything else, with the answer's status.
    Refused(&'static str),
}

/// What the head asks for. `None`: it is not complete.
pub(super) fn parse(received: &[u8]) -> Option<Request> {
    let is_complete = received.windows(4).any(|end| end == b"\r\n\r\n");
    if !is_complete {
        let is_full = received.len() >= MAX_HEAD;
        return is_full.then_some(Request::Refused("431 Request Header Fields Too Large"));
    }
    let line = received.split(|byte| *byte == b'\r').next()?;
    let mut words = line.split(|byte| *byte == b' ');
    let (method, target, version) = (words.next()?, words.next(), words.next());
    let is_http = version.is_some_and(|version| version.starts_with(b"HTTP/1."));
    if !is_http || words.next().is_some() {
        return Some(Request::Refused("400 Bad Request"));
    }
    // Prometheus adds parameters only if its configuration has some.
    let path = target.and_then(|target| target.split(|byte| *byte == b'?').next());
    Some(match (method, path) {
        (b"GET", Some(b"/metrics")) => Request::Metrics,
        (b"GET", Some(b"/")) => Request::Index,
        (b"GET", _) => Request::Refused("404 Not Found"),
        _ => Request::Refused("405 Method Not Allowed"),
    })
}

#[cfg(test)]
mod tests {
    use super::{MAX_HEAD, Request, parse};

    #[test]
    fn only_two_pages_exist() {
        let request = |line: &str| parse(format!("{line}\r\nHost: a\r\n\r\n").as_bytes());
        assert_eq!(request("GET /metrics HTTP/1.1"), Some(Request::Metrics));
        assert_eq!(request("GET /metrics?a=b HTTP/1.0"), Some(Request::Metrics));
        assert_eq!(request("GET / HTTP/1.1"), Some(Request::Index));
        for (line, status) in [
            ("GET /metrics/ HTTP/1.1", "404"),
            ("GET /../metrics HTTP/1.1", "404"),
            ("HEAD /metrics HTTP/1.1", "405"),
            ("POST /metrics HTTP/1.1", "405"),
            ("get /metrics HTTP/1.1", "405"),
            ("GET /metrics", "400"),
            ("GET /metrics HTTP/2", "400"),
            ("GET /metrics HTTP/1.1 more", "400"),
            ("", "400"),
        ] {
            let refused = request(line);
            let Some(Request::Refused(found)) = refused else {
                panic!("{line}: {refused:?}");
            };
            assert!(found.starts_with(status), "{line}: {found}");
        }
    }

    #[test]
    fn a_head_is_waited_for_until_it_is_too_long() {
        assert_eq!(parse(b""), None);
        assert_eq!(parse(b"GET /metrics HTTP/1.1\r\nHost: a\r\n"), None);
        assert_eq!(parse(&[b'a'; MAX_HEAD - 1]), None);
        assert!(matches!(
            parse(&[b'a'; MAX_HEAD]),
            Some(Request::Refused(_))
        ));
    }
}
