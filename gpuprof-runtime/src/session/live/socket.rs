//! The socket's folder and file.

use std::env;
use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use crate::os::noted_descriptor::NotedDescriptor;
use crate::os::user;
use gpuprof_report::live::{check_folder, folder_path, pid_of, socket_name};

/// The file, until it is removed.
static FILE: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Files of the folder that are looked at for sockets of processes that have ended.
const MAX_FILES: usize = 256;

/// The socket that viewers connect to.
#[derive(Debug)]
pub(super) struct Socket {
    pub(super) listener: UnixListener,
    folder: PathBuf,
    _noted: Option<NotedDescriptor>,
}

impl Socket {
    /// Makes the folder and the socket.
    ///
    /// # Errors
    /// The path that cannot be used, and why.
    pub(super) fn bind() -> Result<Self, (PathBuf, String)> {
        let user = user::effective();
        let folder = folder_path(env::var_os("XDG_RUNTIME_DIR").as_deref(), user);
        let made = DirBuilder::new().mode(0o700).create(&folder);
        if let Err(error) = made
            && error.kind() != ErrorKind::AlreadyExists
        {
            return Err((folder, error.to_string()));
        }
        if let Err(error) = check_folder(&folder, user) {
            return Err((folder, error.to_string()));
        }
        let file = folder.join(socket_name(std::process::id()));
        match listen(&file) {
            Ok(listener) => {
                *FILE.lock() = Some(file);
                Ok(Self {
                    _noted: NotedDescriptor::new(listener.as_raw_fd()),
                    listener,
                    folder,
                })
            }
            Err(error) => Err((file, error.to_string())),
        }
    }

    /// Removes the sockets of processes that ended without doing so.
    pub(super) fn remove_stale(&self) {
        let entries = fs::read_dir(&self.folder).into_iter().flatten();
        for entry in entries.flatten().take(MAX_FILES) {
            let pid = pid_of(&entry.file_name());
            // To ask one that listens would take one of its places for viewers.
            let has_ended = |pid: u32| !Path::new(&format!("/proc/{pid}")).exists();
            if pid.is_some_and(has_ended) {
                remove_if_stale(&entry.path());
            }
        }
    }
}

/// Makes the socket under another name first: between its making and the begin of listening it
/// looks like an abandoned one, which other processes remove.
fn listen(file: &Path) -> io::Result<UnixListener> {
    let new = file.with_extension("new");
    // Of an earlier process with the same id.
    let _ = fs::remove_file(&new);
    let listener = UnixListener::bind(&new)?;
    let ready = fs::set_permissions(&new, Permissions::from_mode(0o600));
    let linked = ready.and_then(|()| match fs::hard_link(&new, file) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            remove_if_stale(file);
            fs::hard_link(&new, file)
        }
        linked => linked,
    });
    let _ = fs::remove_file(&new);
    linked.map(|()| listener)
}

/// Removes a socket on which no process listens. Its process may run elsewhere, in a container for
/// example, so that its id alone says nothing.
fn remove_if_stale(file: &Path) {
    let refused = UnixStream::connect(file).err();
    if refused.is_some_and(|error| error.kind() == ErrorKind::ConnectionRefused) {
        // If this fails, viewers skip it.
        let _ = fs::remove_file(file);
    }
}

/// Removes the file. The listener goes on until the process ends.
pub(super) fn remove() {
    if let Some(file) = FILE.lock().take() {
        let _ = fs::remove_file(file);
    }
}
