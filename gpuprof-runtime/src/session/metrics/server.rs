//! The thread that serves metrics: hyper's connections, bounded in number and in time.

use std::cell::Cell;
use std::io::{self, ErrorKind};
use std::rc::Rc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::task::{self, AbortHandle, LocalSet};
use tokio::time;

use super::answers::Answers;
use super::connection;

/// Clients at once. One more takes the place of the one that has not sent its request for longest.
const MAX_CLIENTS: usize = 16;

/// How long the thread pauses after an error that may last, such as a lack of descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// A runtime of its own, for one thread: whether the program has one too makes no difference.
pub(super) struct Server {
    runtime: Runtime,
    listener: TcpListener,
}

/// The connections, the oldest first.
struct Clients {
    answers: Rc<Answers>,
    clients: Vec<Client>,
}

struct Client {
    task: AbortHandle,
    has_asked: Rc<Cell<bool>>,
}

impl Server {
    /// # Errors
    /// The system's.
    pub(super) fn new(listener: std::net::TcpListener) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let runtime = Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()?;
        let entered = runtime.enter();
        let listener = TcpListener::from_std(listener)?;
        drop(entered);
        Ok(Self { runtime, listener })
    }

    /// Serves for the rest of the process.
    pub(super) fn run(self) {
        let Self { runtime, listener } = self;
        let is_local = listener
            .local_addr()
            .is_ok_and(|address| address.ip().is_loopback());
        runtime.block_on(LocalSet::new().run_until(async {
            let mut clients = Clients {
                answers: Rc::new(Answers::new(is_local)),
                clients: Vec::new(),
            };
            loop {
                match listener.accept().await {
                    Ok((stream, _)) => clients.serve(stream).await,
                    Err(error) => match error.kind() {
                        ErrorKind::Interrupted | ErrorKind::ConnectionAborted => {}
                        _ => time::sleep(PAUSE).await,
                    },
                }
            }
        }))
    }
}

impl Clients {
    async fn serve(&mut self, stream: TcpStream) {
        // What clients have sent is read before one of them can give way: first the newest begins
        // to wait for its request, then those are woken whose request is there.
        for _ in 0..2 {
            task::yield_now().await;
        }
        self.make_room();
        let has_asked = Rc::new(Cell::new(false));
        let connection = connection::serve(stream, Rc::clone(&self.answers), has_asked.clone());
        self.clients.push(Client {
            task: task::spawn_local(connection).abort_handle(),
            has_asked,
        });
    }

    fn make_room(&mut self) {
        self.clients.retain(|client| !client.task.is_finished());
        if self.clients.len() < MAX_CLIENTS {
            return;
        }
        let silent = self.clients.iter().position(|one| !one.has_asked.get());
        self.clients.remove(silent.unwrap_or(0)).task.abort();
    }
}
