//! A program that offers a live view, as far as a snapshot goes.

use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::thread;

use gpuprof_report::live::{
    DocumentWriter, Head, MAX_REQUEST_BYTES, read_frame, socket_name, write_frame,
};

/// Answers each `hello` and `snapshot` in the folder `gpuprof` of a runtime folder.
pub(crate) fn serve(runtime_folder: &Path, pid: u32, profile: &'static str) {
    let folder = runtime_folder.join("gpuprof");
    fs::create_dir(&folder).expect("a folder");
    fs::set_permissions(&folder, Permissions::from_mode(0o700)).expect("it is ours");
    let listener = UnixListener::bind(folder.join(socket_name(pid))).expect("a socket");
    thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            // A viewer may end the connection at any time.
            let _ = answer(stream, pid, profile);
        }
    });
}

fn answer(mut stream: UnixStream, pid: u32, profile: &str) -> io::Result<()> {
    while let Some(request) = read_frame(&mut stream, MAX_REQUEST_BYTES)? {
        write_frame(&mut stream, Head::new("train", pid).to_json().as_bytes())?;
        if request == b"snapshot" {
            let mut document = DocumentWriter::new(&mut stream);
            document.write_all(profile.as_bytes())?;
            document.end()?;
        }
    }
    Ok(())
}
