//! Addresses and methods that are accepted, and what a forked child keeps of a connection.

use std::io::Read;

use flate2::read::GzDecoder;
use support::program::Program;
use support::suite::Test;
use support::tests;

use super::http::{exchange, get};
use super::{calls, free_port, serve};

pub(super) const TESTS: &[Test] = tests![
    each_form_of_the_loopback_address_is_of_this_machine_alone,
    the_head_of_a_page_has_its_length_and_no_text,
    pprofs_profile_has_the_call_paths_so_far,
    a_forked_child_keeps_no_descriptor,
];

/// Also of IPv4 in the form of IPv6, which is no loopback address by itself.
fn each_form_of_the_loopback_address_is_of_this_machine_alone() {
    for host in ["localhost", "127.0.0.1", "[::ffff:127.0.0.1]"] {
        let port = free_port();
        let program = Program::new("serving");
        let program = program.env("GPUPROF_METRICS", format!("listen={host}:{port}"));
        let running = program.start().until_ready();
        let named = b"GET /metrics HTTP/1.1\r\nHost: rebound.example\r\n\r\n";
        let refused = exchange(port, named);
        assert!(refused.status.contains("421"), "{host}: {refused:?}");
        assert_eq!(calls(port), 3.0);
        running.signal(libc::SIGKILL);
        assert_eq!(running.end().stderr, "", "{host}");
    }
}

fn the_head_of_a_page_has_its_length_and_no_text() {
    let (_running, port) = serve("serving");
    let page = get(port, "/metrics");
    let head = exchange(port, b"HEAD /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(head.status.contains("200"), "{head:?}");
    assert_eq!(head.body, "");
    for name in ["content-type", "x-content-type-options"] {
        assert_eq!(head.header(name), page.header(name));
    }
    let length: usize = (head.header("content-length"))
        .and_then(|length| length.parse().ok())
        .expect("a length");
    assert!(length > 100, "{head:?}");
}

fn pprofs_profile_has_the_call_paths_so_far() {
    let (_running, port) = serve("serving");
    let path = "/debug/pprof/gpu";
    let answer = get(port, path);
    assert_eq!(answer.status, "HTTP/1.1 200 OK");
    let kind = answer.header("content-type");
    assert_eq!(kind, Some("application/octet-stream"));
    let length = answer.bytes.len().to_string();
    assert_eq!(answer.header("content-length"), Some(&*length));
    let mut file = Vec::new();
    let mut zipped = GzDecoder::new(answer.bytes.as_slice());
    zipped.read_to_end(&mut file).expect("gzip");
    let file = String::from_utf8_lossy(&file);
    for text in ["listener::program::tick", "listener/program.rs", "gpu"] {
        assert!(file.contains(text), "{text}");
    }
    assert!(get(port, "/").body.contains(path));
}

fn a_forked_child_keeps_no_descriptor() {
    let program = Program::new("forking with a client");
    let program = program.env("GPUPROF_METRICS", format!("listen={}", free_port()));
    let ended = program.run();
    assert_eq!(String::from_utf8_lossy(&ended.stdout), "{}\n", "{ended:?}");
}
