//! Which running programs offer a live view.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use gpuprof_report::live::{FolderError, check_folder, folder_path, pid_of, socket_name};
use gpuprof_report::sanitize;

use super::{LiveError, ProgramConnection};

/// Characters of a program's name that a message shows.
const MAX_NAME: usize = 100;

/// Programs that a message lists.
const MAX_LISTED: usize = 20;

/// A program of another user refuses root too, so that root looks for its own alone.
const ROOT: u32 = 0;

const START_IT: &str = "start it with GPUPROF_LIVE=on or GPUPROF=standby; the socket opens at its \
    first profiled call. A program without gpuprof has one under gpuprof run --standby";

/// Connects to the program with this process id or, if it is no number, file name.
///
/// # Errors
/// What to tell the user.
pub(crate) fn connect(target: &str) -> Result<ProgramConnection, String> {
    let user = rustix::process::geteuid().as_raw();
    let folder = folder_path(std::env::var_os("XDG_RUNTIME_DIR").as_deref(), user);
    // That of a program which was started without the variable, by a service for example.
    let other = folder_path(None, user);
    let found = connect_in(&folder, user, target).or_else(|problem| {
        if folder == other {
            Err(problem)
        } else {
            connect_in(&other, user, target).map_err(|_| problem)
        }
    });
    found.map_err(|problem| match user {
        ROOT => format!("{problem} (this command runs as root and sees programs of root alone)"),
        _ => problem,
    })
}

pub(super) fn connect_in(
    folder: &Path,
    user: u32,
    target: &str,
) -> Result<ProgramConnection, String> {
    let shown = sanitize::short(target, MAX_NAME);
    match check_folder(folder, user) {
        Ok(()) => {}
        Err(FolderError::Io(error)) if error.kind() == ErrorKind::NotFound => {
            return Err(format!(
                "{shown}: no program offers a live view; {START_IT}"
            ));
        }
        Err(error) => return Err(format!("{}: {error}", folder.display())),
    }
    match target.parse() {
        Ok(pid) => connect_to_pid(folder, user, pid).map_err(|error| match error {
            LiveError::Gone if !Path::new(&format!("/proc/{pid}")).exists() => {
                format!("{shown}: there is no such process")
            }
            LiveError::Gone => format!("{shown}: this process offers no live view; {START_IT}"),
            error => format!("{shown}: {error}"),
        }),
        Err(_) => connect_to_name(folder, user, target),
    }
}

fn connect_to_pid(folder: &Path, user: u32, pid: u32) -> Result<ProgramConnection, LiveError> {
    ProgramConnection::open(&folder.join(socket_name(pid)), user)
}

fn connect_to_name(folder: &Path, user: u32, target: &str) -> Result<ProgramConnection, String> {
    let shown = sanitize::short(target, MAX_NAME);
    let (mut found, mut others) = (Vec::new(), Vec::new());
    for (path, pid) in sockets(folder) {
        match ProgramConnection::open(&path, user) {
            Ok(connection) if connection.program == target => found.push(connection),
            Ok(connection) => others.push(format!("{pid} {}", connection.program)),
            // Left by a process that was killed.
            Err(LiveError::Gone) => drop(fs::remove_file(&path)),
            Err(error) => others.push(format!("{pid} ({error})")),
        }
    }
    if found.len() > 1 {
        let listed = found.iter().take(MAX_LISTED);
        let ids: Vec<String> = listed.map(|one| one.pid.to_string()).collect();
        return Err(format!(
            "{shown}: {} programs of this name run; name one by its process id: {}",
            found.len(),
            ids.join(", ")
        ));
    }
    found.pop().ok_or_else(|| {
        others.truncate(MAX_LISTED);
        if others.is_empty() {
            format!("{shown}: no program offers a live view; {START_IT}")
        } else {
            format!(
                "{shown}: no program of this name offers a live view; there are: {}",
                others.join(", ")
            )
        }
    })
}

/// The sockets of the folder, by process id.
fn sockets(folder: &Path) -> Vec<(PathBuf, u32)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut sockets: Vec<_> = entries
        .filter_map(|entry| Some((entry.path(), pid_of(&entry.file_name())?)))
        .collect();
    sockets.sort_by_key(|(_, pid)| *pid);
    sockets
}
