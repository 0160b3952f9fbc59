//! Promise: `GPUPROF_METRICS=listen=ADDRESS` serves the metrics and nothing else, whatever other
//! clients do, and never disturbs the program.

mod http;
mod program;
mod requests;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use support::program::{Program, Running};
use support::suite::Module;
use support::tests;

use self::http::{connect, exchange, get};
use crate::exposition::Exposition;

pub(crate) const MODULE: Module =
    Module::new(module_path!(), &[TESTS, requests::TESTS]).with_program(program::run);

/// Every test of this file.
const TESTS: &[(&str, fn())] = tests![
    a_scrape_has_the_calls_so_far,
    the_rank_is_part_of_port_and_labels,
    nothing_else_is_served,
    slow_and_half_open_clients_keep_nobody_out,
    slow_readers_keep_nobody_out_and_are_ended,
    who_has_asked_gives_way_to_nobody,
    a_request_without_end_is_ended,
    nothing_listens_unless_it_is_asked_for,
    a_busy_port_is_one_line,
    an_address_that_others_reach_is_one_line,
    a_value_that_is_not_understood_is_one_line,
    a_forked_child_leaves_the_port,
    clients_do_not_delay_the_end,
    its_thread_takes_no_signal,
];

/// A port that is free now.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("it is bound").port()
}

/// `scenario` with metrics at a port, once it is ready.
fn serve(scenario: &str) -> (Running, u16) {
    let port = free_port();
    let program = Program::new(scenario).env("GPUPROF_METRICS", format!("listen={port}"));
    (program.start().until_ready(), port)
}

fn calls(port: u16) -> f64 {
    let found = Exposition::read(&get(port, "/metrics").body);
    let tick = [("function", "listener::program::tick")];
    found.one("gpuprof_function_calls_total", &tick)
}

fn a_scrape_has_the_calls_so_far() {
    let (_running, port) = serve("serving");
    let answer = get(port, "/metrics");
    assert_eq!(answer.status, "HTTP/1.1 200 OK");
    let kind = answer.header("content-type");
    assert_eq!(kind, Some("text/plain; version=0.0.4; charset=utf-8"));
    let length = answer.body.len().to_string();
    assert_eq!(answer.header("content-length"), Some(&*length));
    assert_eq!(answer.header("connection"), Some("close"));
    assert_eq!(calls(port), 3.0);
    assert!(get(port, "/").body.contains("/metrics"));
}

fn the_rank_is_part_of_port_and_labels() {
    // Two neighbouring ports are free.
    let port = (0..100).map(|_| free_port()).find(|port| {
        port.checked_add(1)
            .is_some_and(|next| TcpListener::bind(("127.0.0.1", next)).is_ok())
    });
    let port = port.expect("two free ports");
    let _running = Program::new("serving")
        .env("RANK", "1")
        .env(
            "GPUPROF_METRICS",
            format!("listen=127.0.0.1:{port}+{{rank}}"),
        )
        .start()
        .until_ready();
    let found = Exposition::read(&get(port + 1, "/metrics").body);
    assert_eq!(
        found
            .of("gpuprof_function_calls_total", &[("rank", "1")])
            .count(),
        1
    );
}

fn nothing_else_is_served() {
    let (_running, port) = serve("serving");
    for (request, status) in [
        ("GET /secret HTTP/1.1\r\n\r\n", "404"),
        ("GET /../../etc/passwd HTTP/1.1\r\n\r\n", "404"),
        ("HEAD /secret HTTP/1.1\r\n\r\n", "404"),
        ("GET /debug/pprof/profile HTTP/1.1\r\n\r\n", "404"),
        (
            "POST /metrics HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello",
            "405",
        ),
        ("DELETE / HTTP/1.1\r\n\r\n", "405"),
        // A page in a browser, whose name leads here.
        (
            "GET /metrics HTTP/1.1\r\nHost: rebound.example:80\r\n\r\n",
            "421",
        ),
        ("get /metrics HTTP/1.1\r\n\r\n", "405"),
        ("hello\r\n\r\n", "400"),
        ("GET /metrics\r\n\r\n", "400"),
        ("GET /metrics HTTP/2\r\n\r\n", "400"),
        ("GET /metrics HTTP/1.1 more\r\n\r\n", "400"),
    ] {
        let answer = exchange(port, request.as_bytes());
        assert!(answer.status.contains(status), "{request:?}: {answer:?}");
        assert!(answer.body.len() < 100, "{answer:?}");
        let allowed = status == "405";
        assert_eq!(answer.header("allow"), allowed.then_some("GET, HEAD"));
    }
    let long = format!("GET /metrics HTTP/1.1\r\nX: {}\r\n\r\n", "a".repeat(20_000));
    let answer = exchange(port, long.as_bytes());
    assert!(answer.status.contains("431"), "{answer:?}");
    assert_eq!(calls(port), 3.0);
}

fn slow_and_half_open_clients_keep_nobody_out() {
    let (_running, port) = serve("serving");
    let half_open: Vec<TcpStream> = (0..40).map(|_| connect(port)).collect();
    // A request byte by byte, one that never ends.
    let mut dripping = connect(port);
    let drip = thread::spawn(move || {
        for byte in b"GET /metrics HTTP/1.1\r\nX: y".iter().cycle() {
            if dripping.write_all(&[*byte]).is_err() {
                return;
            }
            thread::sleep(Duration::from_millis(50));
        }
    });
    // Clients that ask and do not read.
    let deaf: Vec<TcpStream> = (0..8)
        .map(|_| {
            let mut stream = connect(port);
            let request = stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n");
            request.expect("the listener reads");
            stream
        })
        .collect();
    let mut slowest = Duration::ZERO;
    for _ in 0..30 {
        let began = Instant::now();
        assert_eq!(calls(port), 3.0);
        slowest = slowest.max(began.elapsed());
    }
    // A scrape takes less than a millisecond; the limits of the others are 5 and 10 s.
    assert!(slowest < Duration::from_secs(2), "{slowest:?}");
    drop((half_open, deaf));
    // It is ended at last, because its connection is.
    drip.join().expect("it ends");
}

fn slow_readers_keep_nobody_out_and_are_ended() {
    let (_running, port) = serve("many");
    let whole = get(port, "/metrics").body.len();
    assert!(whole > 4 << 20, "{whole}");
    let began = Instant::now();
    // As many as leave one connection for others; each reads a byte per second.
    let readers: Vec<_> = (0..15)
        .map(|_| {
            let mut stream = connect(port);
            let request = stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n");
            request.expect("the listener reads");
            thread::spawn(move || {
                let mut received = 0;
                while began.elapsed() < Duration::from_secs(12) {
                    received += stream.read(&mut [0]).unwrap_or(0);
                    thread::sleep(Duration::from_secs(1));
                }
                // What the sockets hold is still there; the rest was never sent.
                let mut rest = Vec::new();
                let _ = stream.read_to_end(&mut rest);
                received + rest.len()
            })
        })
        .collect();
    let mut slowest = Duration::ZERO;
    while began.elapsed() < Duration::from_secs(8) {
        let began = Instant::now();
        let answer = get(port, "/metrics");
        let length = answer.body.len().to_string();
        assert_eq!(answer.header("content-length"), Some(&*length));
        slowest = slowest.max(began.elapsed());
        thread::sleep(Duration::from_millis(500));
    }
    // Several times what making the text takes; the limit of the others is 10 s.
    assert!(slowest < Duration::from_secs(5), "{slowest:?}");
    for reader in readers {
        let received = reader.join().expect("it reads");
        assert!(
            (12..whole * 9 / 10).contains(&received),
            "{received} of {whole}"
        );
    }
}

fn who_has_asked_gives_way_to_nobody() {
    let (_running, port) = serve("serving");
    // More than there is room for, all at once.
    for _ in 0..20 {
        let clients: Vec<TcpStream> = (0..60)
            .map(|_| {
                let mut stream = connect(port);
                let request = stream.write_all(b"GET / HTTP/1.1\r\n\r\n");
                request.expect("the listener reads");
                stream
            })
            .collect();
        for mut stream in clients {
            let mut answer = String::new();
            stream.read_to_string(&mut answer).expect("an answer");
            assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
        }
    }
}

fn a_request_without_end_is_ended() {
    let (_running, port) = serve("serving");
    let mut silent = connect(port);
    silent
        .write_all(b"GET /metrics HTTP/1.1\r\n")
        .expect("sent");
    let began = Instant::now();
    let mut rest = Vec::new();
    // The end of the stream, or a reset.
    let _ = silent.read_to_end(&mut rest);
    let took = began.elapsed();
    assert_eq!(rest, b"");
    let limits = Duration::from_secs(4)..Duration::from_secs(20);
    assert!(limits.contains(&took), "{took:?}");
}

fn nothing_listens_unless_it_is_asked_for() {
    for (variable, value) in [
        ("GPUPROF_METRICS", ""),
        ("GPUPROF", "off"),
        ("GPUPROF", "nvtx"),
    ] {
        let port = free_port();
        let running = Program::new("serving")
            .env("GPUPROF_METRICS", format!("listen={port}"))
            .env(variable, value)
            .start()
            .until_ready();
        assert!(
            TcpStream::connect(("127.0.0.1", port)).is_err(),
            "{variable}={value}"
        );
        running.signal(libc::SIGKILL);
        // A build without the feature nvtx says so.
        let stderr = running.end().stderr;
        assert!(!stderr.contains("metrics"), "{stderr}");
    }
}

/// The lines of a program that ends by itself under this value.
fn lines_of(value: &str) -> Vec<String> {
    let ended = Program::new("ending").env("GPUPROF_METRICS", value).run();
    assert_eq!(
        (ended.status.code(), ended.reports()),
        (Some(0), 1),
        "{ended:#?}"
    );
    ended.remarks().into_iter().map(str::to_owned).collect()
}

fn a_busy_port_is_one_line() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("it is bound");
    assert_eq!(
        lines_of(&format!("listen={address}")),
        [format!(
            "gpuprof: metrics are not served on {address}: Address already in use (os error 98)"
        )]
    );
}

fn an_address_that_others_reach_is_one_line() {
    let port = free_port();
    assert_eq!(
        lines_of(&format!("listen=0.0.0.0:{port}")),
        [format!(
            "gpuprof: metrics are served on 0.0.0.0:{port}: other machines may read the names and \
             times of functions there"
        )]
    );
    let lines = lines_of("listen=0");
    assert_eq!(lines.len(), 1);
    assert!(lines[0].starts_with("gpuprof: metrics are served on http://127.0.0.1:"));
}

fn a_value_that_is_not_understood_is_one_line() {
    for value in [
        "listen=example.com:80",
        "9464",
        "listen=1,listen=2",
        "prometheus=",
    ] {
        let lines = lines_of(value);
        assert_eq!(lines.len(), 1, "{lines:?}");
        let begin =
            format!("gpuprof: GPUPROF_METRICS=\"{value}\" is not understood: it takes off,");
        assert!(lines[0].starts_with(&begin), "{lines:?}");
    }
}

fn a_forked_child_leaves_the_port() {
    let (running, port) = serve("forking");
    // The parent ends, the child lives on for 5 s: nobody listens. The system may tell the child
    // before it has closed what the parent's other threads held.
    let began = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_ok() {
        assert!(
            began.elapsed() < Duration::from_secs(3),
            "the child listens"
        );
        thread::sleep(Duration::from_millis(10));
    }
    drop(running);
}

fn clients_do_not_delay_the_end() {
    let (running, port) = serve("ending");
    let clients: Vec<TcpStream> = (0..30)
        .map(|_| {
            let mut stream = connect(port);
            stream
                .write_all(b"GET /metrics HTTP/1.1\r\n")
                .expect("sent");
            stream
        })
        .collect();
    let ended = running.end();
    assert_eq!((ended.status.code(), ended.reports()), (Some(0), 1));
    assert!(ended.took < Duration::from_secs(4), "{:?}", ended.took);
    drop(clients);
}

fn its_thread_takes_no_signal() {
    let (running, port) = serve("serving");
    assert_eq!(calls(port), 3.0);
    let tasks = format!("/proc/{}/task", running.id());
    let masks: Vec<u64> = std::fs::read_dir(tasks)
        .expect("Linux lists threads")
        .map(|task| task.expect("a thread").path())
        .filter(|task| {
            std::fs::read_to_string(task.join("comm")).is_ok_and(|name| name == "gpuprof-metrics\n")
        })
        .map(|task| {
            let status = std::fs::read_to_string(task.join("status")).expect("its status");
            let mask = status
                .lines()
                .find_map(|line| line.strip_prefix("SigBlk:\t"));
            u64::from_str_radix(mask.expect("its mask"), 16).expect("a mask")
        })
        .collect();
    assert_eq!(masks.len(), 1);
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGPIPE, libc::SIGUSR1] {
        assert_ne!(masks[0] & 1 << (signal - 1), 0, "{signal}");
    }
}
