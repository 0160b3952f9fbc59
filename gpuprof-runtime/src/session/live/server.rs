//! The thread that waits for viewers.

use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::connection::ViewerConnection;
use super::rate_limit::PACE;
use super::socket::Socket;
use crate::os::noted_descriptor::NotedDescriptor;
use crate::os::{thread_signals, user};

/// Viewers at once.
const MAX_VIEWERS: usize = 4;

/// The pause after an error that may pass, such as a lack of descriptors.
const PAUSE: Duration = Duration::from_secs(1);

/// Accepts viewers until the socket fails, because the program closed it for example.
pub(super) fn run(socket: &Socket) {
    socket.remove_stale();
    // Each viewer has a copy.
    let viewers = Arc::new(());
    loop {
        match socket.listener.accept() {
            Ok((stream, _)) => {
                admit(stream, &viewers);
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
fn admit(stream: UnixStream, viewers: &Arc<()>) {
    if user::peer(&stream).ok() != Some(user::effective()) {
        return;
    }
    let Ok(mut connection) = ViewerConnection::new(stream) else {
        return;
    };
    if Arc::strong_count(viewers) > MAX_VIEWERS {
        return connection.refuse("as many viewers are connected as the program accepts");
    }
    let place = (
        NotedDescriptor::new(connection.as_raw_fd()),
        Arc::clone(viewers),
    );
    let serve = move || {
        connection.serve();
        connection.close();
        drop(place);
    };
    // Without a thread the viewer sees that the connection ends.
    let _ = thread_signals::spawn("gpuprof-viewer", serve);
}
