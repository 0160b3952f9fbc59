//! A program that offers a live view, as far as a snapshot goes.

use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use gpuprof_report::live::{
    Changes, DocumentWriter, Head, MAX_REQUEST_BYTES, read_frame, socket_name, write_frame,
};

/// Answers each `hello`, `snapshot` and `changes` in the folder `gpuprof` of a runtime folder.
#[cfg(any(feature = "mcp", feature = "top"))]
pub(crate) fn serve(runtime_folder: &Path, pid: u32, profile: &'static str) {
    let _ = serve_as(runtime_folder, Head::new("train", pid), profile);
}

/// The same as a program with this head. Returns the requests.
pub(crate) fn serve_as(
    runtime_folder: &Path,
    head: Head,
    profile: &'static str,
) -> Receiver<String> {
    let (sender, requests) = channel();
    let folder = runtime_folder.join("gpuprof");
    fs::create_dir(&folder).expect("a folder");
    fs::set_permissions(&folder, Permissions::from_mode(0o700)).expect("it is ours");
    let listener = UnixListener::bind(folder.join(socket_name(head.pid))).expect("a socket");
    thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            // A viewer may end the connection at any time.
            let _ = answer(stream, &head, profile, &sender);
        }
    });
    requests
}

fn answer(
    mut stream: UnixStream,
    head: &Head,
    profile: &str,
    requests: &Sender<String>,
) -> io::Result<()> {
    while let Some(request) = read_frame(&mut stream, MAX_REQUEST_BYTES)? {
        // The test may have seen enough.
        let _ = requests.send(String::from_utf8_lossy(&request).into_owned());
        write_frame(&mut stream, head.to_json().as_bytes())?;
        if request.starts_with(b"snapshot") || request.starts_with(b"trace") {
            let mut document = DocumentWriter::new(&mut stream);
            document.write_all(profile.as_bytes())?;
            document.end()?;
        } else if request == b"changes" {
            let mut changes = Changes::default();
            changes.next_ms = 1_000;
            write_frame(&mut stream, changes.to_json().as_bytes())?;
        }
    }
    Ok(())
}
