//! A connection to a running program.

use std::error::Error;
use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use gpuprof_report::live::{
    Changes, Head, Look, MAX_FRAME_BYTES, PROTOCOL, Request, UnreadableAnswer, from_json,
    read_document, read_frame, write_frame,
};
use gpuprof_report::sanitize;

/// How long a program may take for its first answer. One that is stopped takes for ever.
const HELLO_LIMIT: Duration = Duration::from_secs(2);

/// How long it may send nothing while it makes an answer: it may pause for 30 s so that answers
/// cost it at most 1 %.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);

/// Characters of a program's own message that are shown.
const MAX_MESSAGE: usize = 200;

/// A running program that answers.
#[derive(Debug)]
pub(crate) struct ProgramConnection {
    stream: UnixStream,
    pub(crate) pid: u32,
    pub(crate) program: String,
    /// It records what a viewer asks for, while that looks.
    pub(crate) in_standby: bool,
}

/// Why a program does not answer.
#[derive(Debug)]
pub(crate) enum LiveError {
    /// No process listens on the socket.
    Gone,
    OtherUser,
    Io(io::Error),
    Ended,
    TooSlow,
    /// It speaks another protocol.
    Protocol(String),
    Unreadable(UnreadableAnswer),
    /// It records what it was started with.
    NotInStandby,
    /// Its own words.
    Refused(String),
    /// What it sent could not be written.
    Output(io::Error),
}

impl fmt::Display for LiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gone => f.write_str("the program has ended"),
            Self::OtherUser => f.write_str("its socket belongs to another user"),
            Self::Io(error) => write!(f, "the program cannot be asked: {error}"),
            Self::Ended => f.write_str("the connection ended before the program had answered"),
            Self::TooSlow => f.write_str("the program does not answer; it may be stopped"),
            Self::Protocol(found) => write!(
                f,
                "the program speaks {found}, this command {PROTOCOL}: use the command of the \
                 program's version of gpuprof"
            ),
            Self::Unreadable(error) => {
                f.write_str(&sanitize::short(&error.to_string(), MAX_MESSAGE))
            }
            Self::NotInStandby => f.write_str(
                "the program is not in standby: it records what it was started with, from its \
                 start on; start it with GPUPROF=standby to choose that and the time here",
            ),
            Self::Refused(reason) => f.write_str(reason),
            Self::Output(error) => write!(f, "cannot be written: {error}"),
        }
    }
}

impl Error for LiveError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Io(error) | Self::Output(error) => Some(error),
            Self::Unreadable(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for LiveError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => Self::TooSlow,
            ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => {
                Self::Ended
            }
            _ => Self::Io(error),
        }
    }
}

impl ProgramConnection {
    /// Connects to the socket at `path` of `user`, and asks which program it is.
    ///
    /// # Errors
    /// [`LiveError`] if no process of this user answers.
    pub(crate) fn open(path: &Path, user: u32) -> Result<Self, LiveError> {
        let stream = UnixStream::connect(path).map_err(|error| match error.kind() {
            ErrorKind::ConnectionRefused | ErrorKind::NotFound => LiveError::Gone,
            _ => LiveError::Io(error),
        })?;
        let peer = rustix::net::sockopt::socket_peercred(&stream).map_err(io::Error::from)?;
        if peer.uid.as_raw() != user {
            return Err(LiveError::OtherUser);
        }
        stream.set_read_timeout(Some(HELLO_LIMIT))?;
        stream.set_write_timeout(Some(HELLO_LIMIT))?;
        let mut connection = Self {
            stream,
            pid: 0,
            program: String::new(),
            in_standby: false,
        };
        let head = connection.ask(Request::Hello)?;
        (connection.pid, connection.in_standby) = (head.pid, head.standby);
        connection.program = sanitize::short(&head.program, MAX_MESSAGE).into_owned();
        connection.stream.set_read_timeout(Some(ANSWER_LIMIT))?;
        Ok(connection)
    }

    /// The rows that have changed since the last call.
    ///
    /// # Errors
    /// [`LiveError`] if there is no answer.
    pub(crate) fn changes(&mut self) -> Result<Changes, LiveError> {
        self.ask(Request::Changes)?;
        let frame = read_frame(&mut self.stream, MAX_FRAME_BYTES)?.ok_or(LiveError::Ended)?;
        from_json(&frame).map_err(LiveError::Unreadable)
    }

    /// Has a program in standby record this, until the connection ends.
    ///
    /// # Errors
    /// [`LiveError`] if it cannot.
    pub(crate) fn look(&mut self, look: Look) -> Result<(), LiveError> {
        self.ask(Request::Look(look)).map(drop)
    }

    /// Another handle of its socket, to end it while an answer is awaited.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn socket(&self) -> io::Result<UnixStream> {
        self.stream.try_clone()
    }

    /// Writes the profile, or the time line, into `out`.
    ///
    /// # Errors
    /// [`LiveError`] if it does not come whole.
    pub(crate) fn document(
        &mut self,
        request: Request,
        out: &mut dyn Write,
    ) -> Result<(), LiveError> {
        if let Request::Trace { ms, .. } | Request::SnapshotAfter { ms } = request {
            let limit = ANSWER_LIMIT + Duration::from_millis(ms);
            self.stream.set_read_timeout(Some(limit))?;
        }
        self.ask(request)?;
        let mut out = OutputErrors { out, failed: None };
        match (read_document(&mut self.stream, &mut out), out.failed) {
            (_, Some(error)) => Err(LiveError::Output(error)),
            (result, None) => Ok(result.map(drop)?),
        }
    }

    /// Sends a request and reads the head of the answer.
    fn ask(&mut self, request: Request) -> Result<Head, LiveError> {
        write_frame(&mut self.stream, request.to_string().as_bytes())?;
        let frame = read_frame(&mut self.stream, MAX_FRAME_BYTES)?.ok_or(LiveError::Ended)?;
        let head: Head = from_json(&frame).map_err(LiveError::Unreadable)?;
        let short = |text: &str| sanitize::short(text, MAX_MESSAGE).into_owned();
        if head.protocol != PROTOCOL {
            return Err(LiveError::Protocol(short(&head.protocol)));
        }
        match &head.error {
            Some(error) => Err(LiveError::Refused(short(error))),
            None => Ok(head),
        }
    }
}

/// Keeps the error of a writer, to tell it from those of the connection.
struct OutputErrors<'a> {
    out: &'a mut dyn Write,
    failed: Option<io::Error>,
}

impl Write for OutputErrors<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes).map_err(|error| {
            let kind = error.kind();
            if kind != ErrorKind::Interrupted {
                self.failed = Some(error);
            }
            kind.into()
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
