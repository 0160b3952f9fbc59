//! The few requests that are answered.

use std::net::{Ipv4Addr, Ipv6Addr};

use hyper::header::HOST;
use hyper::http::uri::Authority;
use hyper::{Method, Request, StatusCode};

/// What a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// `/metrics`.
    Metrics,
    /// `/debug/pprof/gpu`: below the path where those who collect pprof's profiles look.
    #[cfg(feature = "pprof")]
    Pprof,
    /// `/`.
    Index,
}

/// What `request` asks for, or the status of its refusal.
///
/// If the listener `is_local`, a host that is named is refused, unless it is `localhost`: a page in
/// a browser could be of a name that leads to this machine, and may read what its own name serves.
pub(super) fn asked<B>(request: &Request<B>, is_local: bool) -> Result<Asked, StatusCode> {
    let mut hosts = request.headers().get_all(HOST).iter();
    let named = |host: Option<&Authority>| host.is_none_or(|host| !is_this_machine(host));
    let is_named = hosts.any(|host| named(Authority::try_from(host.as_bytes()).ok().as_ref()))
        || request
            .uri()
            .authority()
            .is_some_and(|host| named(Some(host)));
    if is_local && is_named {
        return Err(StatusCode::MISDIRECTED_REQUEST);
    }
    // hyper omits the body of an answer to HEAD.
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        return Err(StatusCode::METHOD_NOT_ALLOWED);
    }
    // Prometheus adds parameters only if its configuration has some.
    match request.uri().path() {
        "/metrics" => Ok(Asked::Metrics),
        #[cfg(feature = "pprof")]
        "/debug/pprof/gpu" => Ok(Asked::Pprof),
        "/" => Ok(Asked::Index),
        _ => Err(StatusCode::NOT_FOUND),
    }
}

/// Whether it is `localhost` or an address, with or without a port.
fn is_this_machine(host: &Authority) -> bool {
    let host = host.host();
    let bare = host
        .strip_prefix('[')
        .and_then(|address| address.strip_suffix(']'));
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<Ipv4Addr>().is_ok()
        || bare.is_some_and(|address| address.parse::<Ipv6Addr>().is_ok())
}

#[cfg(test)]
mod tests {
    use hyper::header::{HOST, HeaderValue};
    use hyper::{Request, StatusCode};

    use super::{Asked, asked};

    fn request(method: &str, uri: &str, hosts: &[&str]) -> Request<()> {
        let mut request = Request::builder().method(method).uri(uri).body(());
        let headers = request.as_mut().expect("a request").headers_mut();
        for host in hosts {
            headers.append(HOST, HeaderValue::from_bytes(host.as_bytes()).expect(host));
        }
        request.expect("a request")
    }

    #[test]
    fn only_this_machine_is_a_host_of_a_local_listener() {
        let ask = |hosts: &[&str], is_local| asked(&request("GET", "/metrics", hosts), is_local);
        for host in [
            "localhost",
            "LOCALHOST:9464",
            "127.0.0.1:9464",
            "192.168.1.2",
            "[::1]:9464",
            "[::1]",
        ] {
            assert_eq!(ask(&[host], true), Ok(Asked::Metrics), "{host}");
        }
        assert_eq!(ask(&[], true), Ok(Asked::Metrics));
        for hosts in [
            &["example.com:9464"][..],
            &["127.0.0.1.example.com"],
            &["localhost.example.com"],
            &[""],
            &["\u{fc}"],
            &["localhost", "example.com"],
        ] {
            let refused = Err(StatusCode::MISDIRECTED_REQUEST);
            assert_eq!(ask(hosts, true), refused, "{hosts:?}");
            assert_eq!(ask(hosts, false), Ok(Asked::Metrics), "{hosts:?}");
        }
        let absolute = request("GET", "http://example.com/metrics", &["localhost"]);
        assert_eq!(asked(&absolute, true), Err(StatusCode::MISDIRECTED_REQUEST));
        assert_eq!(asked(&absolute, false), Ok(Asked::Metrics));
    }

    #[test]
    fn nothing_but_these_pages_exists() {
        let ask = |method, uri| asked(&request(method, uri, &[]), false);
        assert_eq!(ask("GET", "/metrics"), Ok(Asked::Metrics));
        assert_eq!(ask("GET", "/metrics?a=b"), Ok(Asked::Metrics));
        assert_eq!(ask("HEAD", "/metrics"), Ok(Asked::Metrics));
        assert_eq!(ask("GET", "/"), Ok(Asked::Index));
        #[cfg(feature = "pprof")]
        assert_eq!(ask("GET", "/debug/pprof/gpu"), Ok(Asked::Pprof));
        for (method, uri, status) in [
            ("GET", "/metrics/", StatusCode::NOT_FOUND),
            ("GET", "/../metrics", StatusCode::NOT_FOUND),
            ("GET", "/debug/pprof/", StatusCode::NOT_FOUND),
            ("HEAD", "/secret", StatusCode::NOT_FOUND),
            ("POST", "/metrics", StatusCode::METHOD_NOT_ALLOWED),
            ("get", "/metrics", StatusCode::METHOD_NOT_ALLOWED),
        ] {
            assert_eq!(ask(method, uri), Err(status), "{method} {uri}");
        }
    }
}
