//! One viewer: it sends requests and gets an answer to each.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use super::answers::{self, Answer, ViewerState};
use super::looks;
use super::rate_limit::{self, PACE};
use crate::os::fd;
use crate::session::process_facts;
use crate::session::serving::cpu_time_of;
use gpuprof_report::live::{
    DocumentWriter, Head, MAX_REQUEST_BYTES, Request, read_frame, write_frame,
};
#[cfg(feature = "trace")]
use gpuprof_report::trace;

/// How long a viewer may take for its next request.
const IDLE_LIMIT: Duration = Duration::from_secs(60);

/// How long it may read nothing of an answer.
const STALL_LIMIT: Duration = Duration::from_secs(2);

/// How long it may take to read an answer, all of it.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);

pub(super) struct ViewerConnection {
    stream: UnixStream,
    /// What the stream is: the program may close it, and open another file under its number.
    identity: Option<(u64, u64)>,
    state: ViewerState,
}

impl AsRawFd for ViewerConnection {
    fn as_raw_fd(&self) -> RawFd {
        self.stream.as_raw_fd()
    }
}

impl ViewerConnection {
    /// # Errors
    /// The system's.
    pub(super) fn new(stream: UnixStream) -> io::Result<Self> {
        stream.set_write_timeout(Some(STALL_LIMIT))?;
        Ok(Self {
            identity: fd::identity(stream.as_raw_fd()),
            stream,
            state: ViewerState::default(),
        })
    }

    /// Answers until the viewer is gone or breaks a limit.
    pub(super) fn serve(&mut self) {
        while let Some(text) = self.request() {
            let request = match Request::parse(&text) {
                Ok(request) => request,
                Err(error) => return self.refuse(&error.to_string()),
            };
            let answer = answers::answer(request, &mut self.state, &self.stream);
            if !self.is_ours() {
                return;
            }
            let (written, spent) = cpu_time_of(|| self.write(&answer));
            rate_limit::charge(spent);
            if written.is_err() {
                return;
            }
            if request == Request::Hello {
                thread::sleep(PACE);
            }
        }
    }

    /// The next request. `None`: there is none, or the viewer took too long for it.
    fn request(&mut self) -> Option<Vec<u8>> {
        if !self.is_ours() {
            return None;
        }
        let mut incoming = Incoming {
            stream: &self.stream,
            until: Instant::now() + IDLE_LIMIT,
        };
        read_frame(&mut incoming, MAX_REQUEST_BYTES).ok().flatten()
    }

    fn is_ours(&self) -> bool {
        fd::identity(self.stream.as_raw_fd()) == self.identity
    }

    /// Ends the connection, and leaves a file of the program alone that has its number by now.
    pub(super) fn close(self) {
        if !self.is_ours() {
            std::mem::forget(self.stream);
        }
    }

    /// Says why there is no answer.
    pub(super) fn refuse(&mut self, reason: &str) {
        // The connection ends in any case.
        let _ = self.write(&Answer::Refused(reason.to_owned()));
    }

    fn write(&mut self, answer: &Answer) -> io::Result<()> {
        let mut out = Outgoing {
            stream: &self.stream,
            until: Instant::now() + ANSWER_LIMIT,
        };
        let head = Head::new(&process_facts::program(), std::process::id());
        let head = head.in_standby(looks::is_in_standby());
        let head = match answer {
            Answer::Refused(reason) => head.with_error(reason),
            _ => head,
        };
        write_frame(&mut out, head.to_json().as_bytes())?;
        match answer {
            Answer::Hello | Answer::Refused(_) => Ok(()),
            Answer::Frame(text) => write_frame(&mut out, text.as_bytes()),
            Answer::Document(text) => {
                let mut document = DocumentWriter::new(&mut out);
                document.write_all(text)?;
                document.end()
            }
            #[cfg(feature = "trace")]
            Answer::TimeLine(time_line, format) => {
                let mut document = DocumentWriter::new(&mut out);
                trace::write(time_line, *format, &mut document)?;
                document.end()
            }
        }
    }
}

/// A viewer that sends too slowly is an error.
struct Incoming<'a> {
    stream: &'a UnixStream,
    until: Instant,
}

impl Read for Incoming<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        self.stream.read(buffer)
    }
}

/// A viewer that reads too slowly is an error.
struct Outgoing<'a> {
    stream: &'a UnixStream,
    until: Instant,
}

impl Write for Outgoing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if Instant::now() > self.until {
            return Err(ErrorKind::TimedOut.into());
        }
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
