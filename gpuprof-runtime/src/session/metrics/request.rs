//! The few requests that are answered.

use std::net::{Ipv4Addr, Ipv6Addr};

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
///
/// If the listener `is_local`, a host that is named is refused, unless it is `localhost`: a page in
/// a browser could be of a name that leads to this machine, and may read what its own name serves.
pub(super) fn parse(received: &[u8], is_local: bool) -> Option<Request> {
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
    if is_local && !hosts(received).all(is_this_machine) {
        return Some(Request::Refused("421 Misdirected Request"));
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

/// The values of the header `Host`.
fn hosts(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = head.split(|byte| *byte == b'\n').skip(1);
    lines.filter_map(|line| {
        let colon = line.iter().position(|byte| *byte == b':')?;
        let (name, value) = line.split_at_checked(colon)?;
        let is_host = name.trim_ascii().eq_ignore_ascii_case(b"host");
        is_host.then(|| value.get(1..).unwrap_or_default().trim_ascii())
    })
}

/// Whether it is `localhost` or an address, with or without a port.
fn is_this_machine(host: &[u8]) -> bool {
    let Ok(host) = std::str::from_utf8(host) else {
        return false;
    };
    let without_port = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let bare = without_port.strip_prefix('[');
    let bare = bare.and_then(|address| address.strip_suffix(']'));
    without_port.eq_ignore_ascii_case("localhost")
        || without_port.parse::<Ipv4Addr>().is_ok()
        || bare.is_some_and(|address| address.parse::<Ipv6Addr>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::{MAX_HEAD, Request, parse};

    #[test]
    fn only_this_machine_is_a_host_of_a_local_listener() {
        let request = |host: &str, is_local| {
            let head = format!("GET /metrics HTTP/1.1\r\nAccept: */*\r\n{host}\r\n\r\n");
            parse(head.as_bytes(), is_local)
        };
        for host in [
            "Host: localhost",
            "host: LOCALHOST:9464",
            "HOST:127.0.0.1:9464",
            "Host: 192.168.1.2",
            "Host: [::1]:9464",
            "Host: [::1]",
            "X-Host: example.com",
        ] {
            assert_eq!(request(host, true), Some(Request::Metrics), "{host}");
        }
        for host in [
            "Host: example.com:9464",
            "Host: 127.0.0.1.example.com",
            "Host: localhost.example.com",
            "Host: ",
            "Host: \u{fc}",
            "Host: localhost\r\nHost: example.com",
        ] {
            let refused = Some(Request::Refused("421 Misdirected Request"));
            assert_eq!(request(host, true), refused, "{host}");
            assert_eq!(request(host, false), Some(Request::Metrics), "{host}");
        }
    }

    #[test]
    fn only_two_pages_exist() {
        let request = |line: &str| parse(format!("{line}\r\nHost: a\r\n\r\n").as_bytes(), false);
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
        assert_eq!(parse(b"", true), None);
        assert_eq!(parse(b"GET /metrics HTTP/1.1\r\nHost: a\r\n", true), None);
        assert_eq!(parse(&[b'a'; MAX_HEAD - 1], true), None);
        assert!(matches!(
            parse(&[b'a'; MAX_HEAD], true),
            Some(Request::Refused(_))
        ));
    }
}
