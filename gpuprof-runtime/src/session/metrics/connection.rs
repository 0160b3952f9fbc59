//! One client of the listener: it sends a request, gets one answer, and is closed.

use std::cell::Cell;
use std::convert::Infallible;
use std::future::{self, poll_fn};
use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd};
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy, sink};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::answers::Answers;
use crate::os::noted_descriptor::NotedDescriptor;

/// Bytes of a request's head, at most; hyper takes no fewer.
const MAX_HEAD: usize = 8 << 10;

/// How long a client may take to send its request, all of it.
const READ_LIMIT: Duration = Duration::from_secs(5);

/// How long it may take to read its answer, all of it.
const WRITE_LIMIT: Duration = Duration::from_secs(10);

/// How long it may take to close after its answer, and the bytes that it may still send. A socket
/// that is closed with unread bytes takes the answer back.
const CLOSE_LIMIT: Duration = Duration::from_secs(1);
const MAX_UNREAD: u64 = 64 << 10;

/// Answers one request within the limits, and sets `has_asked` once there is one.
pub(super) async fn serve(stream: TcpStream, answers: Rc<Answers>, has_asked: Rc<Cell<bool>>) {
    let Ok(_end) = ShutdownOnDrop::of(&stream) else {
        return;
    };
    let service = service_fn(|request| {
        has_asked.set(true);
        future::ready(Ok::<_, Infallible>(answers.to(&request)))
    });
    let mut connection = http1::Builder::new()
        .keep_alive(false)
        .half_close(true)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(stream), service);
    // A limit of time is of the client alone: what it has sent is read first, however long others
    // took.
    let request = poll_fn(|context| match connection.poll_without_shutdown(context) {
        Poll::Ready(_) => Poll::Ready(true),
        Poll::Pending if has_asked.get() => Poll::Ready(false),
        Poll::Pending => Poll::Pending,
    });
    let Ok(is_answered) = timeout(READ_LIMIT, request).await else {
        return;
    };
    if !is_answered {
        let answer = poll_fn(|context| connection.poll_without_shutdown(context));
        if timeout(WRITE_LIMIT, answer).await.is_err() {
            return;
        }
    }
    close(connection.into_parts().io.into_inner()).await;
}

async fn close(mut stream: TcpStream) {
    let _ = stream.shutdown().await;
    let mut unread = stream.take(MAX_UNREAD);
    let _ = timeout(CLOSE_LIMIT, copy(&mut unread, &mut sink())).await;
}

/// Shuts the connection down at its end. Closing it is not enough: a forked child may have it too.
struct ShutdownOnDrop {
    copy: std::net::TcpStream,
    /// The stream and the copy. Dropped last.
    _noted: [Option<NotedDescriptor>; 2],
}

impl ShutdownOnDrop {
    /// # Errors
    /// The system's.
    fn of(stream: &TcpStream) -> io::Result<Self> {
        let copy = std::net::TcpStream::from(stream.as_fd().try_clone_to_owned()?);
        let _noted = [stream.as_raw_fd(), copy.as_raw_fd()].map(NotedDescriptor::new);
        Ok(Self { copy, _noted })
    }
}

impl Drop for ShutdownOnDrop {
    fn drop(&mut self) {
        let _ = self.copy.shutdown(Shutdown::Both);
    }
}
