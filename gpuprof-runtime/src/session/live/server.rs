//! The thread that waits for viewers.

use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use super::connection::ViewerConnection;
use super::connections::DESCRIPTORS;
use super::rate_limit::PACE;
use super::socket::Socket;
use crate::os::{thread_signals, user};

/// The pause after an error that may pass, such as a lack of descriptors.
const PAUSE: Duration = Duration::from_secs(1);

/// Accepts viewers until the socket fails, because the program closed it for example.
pub(super) fn run(socket: &Socket) {
    socket.remove_stale();
    loop {
        match socket.listener.accept() {
            Ok((stream, _)) => {
                admit(stream);
                thread::sleep(PACE);
            }
            Err(error) if may_pass(&error) => thread::sleep(PAUSE),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
            Err(_) => return,
        }
    }
}

fn may_pass(error: &io::Error) -> bool {
    let lacks = [libc::EMFILE, libc::ENFILE, libc::ENOMEM, libc::ENOBUFS];
    error
        .raw_os_error()
        .is_some_and(|code| lacks.contains(&code))
}

/// Gives the viewer a thread, unless it is another user's or there are too many.
fn admit(stream: UnixStream) {
    if user::peer(&stream).ok() != Some(user::effective()) {
        return;
    }
    let Ok(mut connection) = ViewerConnection::new(stream) else {
        return;
    };
    let Some(place) = DESCRIPTORS.take_place() else {
        return connection.refuse("as many viewers are connected as the program accepts");
    };
    place.set([connection.as_raw_fd()]);
    let serve = move || {
        connection.serve();
        connection.close();
        drop(place);
    };
    // Without a thread the viewer sees that the connection ends.
    let _ = thread_signals::spawn("gpuprof-viewer", serve);
}
