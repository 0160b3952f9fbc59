//! One client of the listener: it sends a request, gets one answer, and is closed.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::request::{self, MAX_HEAD, Request};

/// How long a client may take to send its request, all of it.
const READ_LIMIT: Duration = Duration::from_secs(5);

/// How long it may take to read its answer, all of it.
const WRITE_LIMIT: Duration = Duration::from_secs(10);

/// How long it may take to close after its answer, and the bytes that it may still send. A socket
/// that is closed with unread bytes takes the answer back.
const CLOSE_LIMIT: Duration = Duration::from_secs(1);
const MAX_UNREAD: usize = 64 << 10;

pub(super) struct Connection {
    stream: TcpStream,
    deadline: Instant,
    state: State,
    /// The listener is for this machine alone.
    is_local: bool,
}

enum State {
    Reading(Vec<u8>),
    Writing { answer: Arc<[u8]>, sent: usize },
    Closing { unread: usize },
}

/// Whether a step could be taken.
enum Step {
    Done,
    Blocked,
    /// The client is gone, or broke a limit.
    Over,
}

impl Connection {
    /// # Errors
    /// The system's.
    pub(super) fn new(stream: TcpStream, is_local: bool) -> std::io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self {
            stream,
            deadline: Instant::now() + READ_LIMIT,
            state: State::Reading(Vec::new()),
            is_local,
        })
    }

    pub(super) fn descriptor(&self) -> RawFd {
        self.stream.as_raw_fd()
    }

    pub(super) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Whether it has not sent its request yet.
    pub(super) fn is_reading(&self) -> bool {
        matches!(self.state, State::Reading(_))
    }

    /// What to wait for.
    pub(super) fn events(&self) -> libc::c_short {
        match self.state {
            State::Writing { .. } => libc::POLLOUT,
            State::Reading(_) | State::Closing { .. } => libc::POLLIN,
        }
    }

    /// Goes on as far as the client lets it. Returns whether the connection stays open. A limit of
    /// time is of the client alone: what it has sent is read first, however long others took.
    pub(super) fn advance(&mut self, answer: &mut dyn FnMut(Request) -> Arc<[u8]>) -> bool {
        loop {
            let step = match self.state {
                State::Reading(_) => self.read(answer),
                State::Writing { .. } => self.write(),
                State::Closing { .. } => self.close(),
            };
            match step {
                Step::Done => {}
                Step::Blocked => return Instant::now() < self.deadline,
                Step::Over => return false,
            }
        }
    }

    fn read(&mut self, answer: &mut dyn FnMut(Request) -> Arc<[u8]>) -> Step {
        let State::Reading(received) = &mut self.state else {
            return Step::Over;
        };
        let mut buffer = [0; 1 << 10];
        let room = MAX_HEAD.saturating_sub(received.len()).min(buffer.len());
        let buffer = buffer.get_mut(..room).unwrap_or_default();
        match self.stream.read(buffer) {
            Ok(0) => return Step::Over,
            Ok(count) => received.extend(buffer.iter().take(count)),
            Err(error) => return blocked_or_over(&error),
        }
        if let Some(request) = request::parse(received, self.is_local) {
            let answer = answer(request);
            self.deadline = Instant::now() + WRITE_LIMIT;
            self.state = State::Writing { answer, sent: 0 };
        }
        Step::Done
    }

    fn write(&mut self) -> Step {
        let State::Writing { answer, sent } = &mut self.state else {
            return Step::Over;
        };
        let rest = answer.get(*sent..).unwrap_or_default();
        if rest.is_empty() {
            // Not by closing alone: a forked child may have the socket too.
            let _ = self.stream.shutdown(Shutdown::Write);
            self.deadline = Instant::now() + CLOSE_LIMIT;
            self.state = State::Closing { unread: 0 };
            return Step::Done;
        }
        match self.stream.write(rest) {
            Ok(0) => Step::Over,
            Ok(count) => {
                *sent += count;
                Step::Done
            }
            Err(error) => blocked_or_over(&error),
        }
    }

    fn close(&mut self) -> Step {
        let State::Closing { unread } = &mut self.state else {
            return Step::Over;
        };
        let mut buffer = [0; 1 << 10];
        match self.stream.read(&mut buffer) {
            Ok(0) => Step::Over,
            Ok(count) => {
                *unread += count;
                if *unread > MAX_UNREAD {
                    Step::Over
                } else {
                    Step::Done
                }
            }
            Err(error) => blocked_or_over(&error),
        }
    }
}

fn blocked_or_over(error: &std::io::Error) -> Step {
    match error.kind() {
        ErrorKind::WouldBlock => Step::Blocked,
        ErrorKind::Interrupted => Step::Done,
        _ => Step::Over,
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}
