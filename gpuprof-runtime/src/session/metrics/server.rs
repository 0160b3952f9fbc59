//! The thread that serves metrics: one thread, any number of bounded, short connections.
//!
//! Small servers of others do not bound what a client may take: tiny_http 0.12 starts a thread for
//! each connection, and has no time limit and no limit of a request's head. An asynchronous one
//! would bring a runtime into a program that may have another.

use std::io::ErrorKind;
use std::net::TcpListener;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::connection::Connection;
use super::request::Request;
use super::scrape::page;
use crate::os::poll;
use crate::session::waits::LOCK_LIMIT;
use gpuprof_report::metrics::text::CONTENT_TYPE;

/// Clients at once. One more takes the place of the one that has not sent its request for longest.
const MAX_CONNECTIONS: usize = 16;

/// How long the thread pauses after an error that may last, such as a lack of descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// A page is sent again within so many times the time that it took to make: clients cannot have
/// more than a tenth of a processor spent on it.
const REUSE: u32 = 10;

pub(super) struct Server {
    listener: TcpListener,
    connections: Vec<Connection>,
    page: Option<Page>,
    /// For this machine alone.
    is_local: bool,
}

/// An answer that may be sent again.
struct Page {
    answer: Arc<[u8]>,
    until: Instant,
}

impl Server {
    /// # Errors
    /// The system's.
    pub(super) fn new(listener: TcpListener) -> std::io::Result<Self> {
        listener.set_nonblocking(true)?;
        let is_local = listener.local_addr()?.ip().is_loopback();
        Ok(Self {
            is_local,
            listener,
            connections: Vec::new(),
            page: None,
        })
    }

    /// Serves for the rest of the process.
    pub(super) fn run(mut self) -> ! {
        loop {
            let request = |fd, events| libc::pollfd {
                fd,
                events,
                revents: 0,
            };
            let mut requests = vec![request(self.listener.as_raw_fd(), libc::POLLIN)];
            let connections = self.connections.iter();
            requests.extend(connections.map(|one| request(one.descriptor(), one.events())));
            let nearest = self.connections.iter().map(Connection::deadline).min();
            let limit = nearest.map(|at| at.saturating_duration_since(Instant::now()));
            if poll::wait(&mut requests, limit).is_err() {
                thread::sleep(PAUSE);
            }
            self.advance();
            if requests
                .first()
                .is_some_and(|listener| listener.revents != 0)
            {
                self.accept();
            }
        }
    }

    fn advance(&mut self) {
        let page = &mut self.page;
        self.connections
            .retain_mut(|connection| connection.advance(&mut |request| answer(request, page)));
    }

    fn accept(&mut self) {
        // Bounded, so that clients that have connected are served meanwhile.
        for _ in 0..MAX_CONNECTIONS {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    let Ok(mut connection) = Connection::new(stream, self.is_local) else {
                        continue;
                    };
                    // Before it can be the one that gives way to the next.
                    let page = &mut self.page;
                    if connection.advance(&mut |request| answer(request, page)) {
                        self.make_room();
                        self.connections.push(connection);
                    }
                }
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => return,
                    ErrorKind::Interrupted | ErrorKind::ConnectionAborted => {}
                    _ => return thread::sleep(PAUSE),
                },
            }
        }
    }

    fn make_room(&mut self) {
        if self.connections.len() < MAX_CONNECTIONS {
            return;
        }
        let oldest = self.connections.iter().enumerate();
        let oldest = oldest.min_by_key(|(_, one)| (!one.is_reading(), one.deadline()));
        if let Some((index, _)) = oldest {
            self.connections.remove(index);
        }
    }
}

fn answer(request: Request, page: &mut Option<Page>) -> Arc<[u8]> {
    match request {
        Request::Metrics => metrics(page),
        Request::Index => response(
            "200 OK",
            "text/plain; charset=utf-8",
            b"gpuprof: /metrics\n",
        ),
        Request::Refused(status) => {
            let body = format!("{status}\n");
            response(status, "text/plain; charset=utf-8", body.as_bytes())
        }
    }
}

fn metrics(known: &mut Option<Page>) -> Arc<[u8]> {
    let began = Instant::now();
    if let Some(page) = known.as_ref().filter(|page| began < page.until) {
        return Arc::clone(&page.answer);
    }
    let Some(text) = page(LOCK_LIMIT) else {
        let status = "503 Service Unavailable";
        return response(status, "text/plain; charset=utf-8", b"locked\n");
    };
    let answer = response("200 OK", CONTENT_TYPE, &text);
    *known = Some(Page {
        answer: Arc::clone(&answer),
        until: Instant::now() + began.elapsed() * REUSE,
    });
    answer
}

fn response(status: &str, content_type: &str, body: &[u8]) -> Arc<[u8]> {
    let allow = match status.starts_with("405") {
        true => "Allow: GET\r\n",
        false => "",
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n\
         {allow}X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let mut response = head.into_bytes();
    response.extend(body);
    response.into()
}
