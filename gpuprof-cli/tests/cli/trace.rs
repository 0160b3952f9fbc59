//! `gpuprof trace` and signals, with a program that records until the command has enough.

use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Child, Stdio};

use gpuprof_report::live::{
    DocumentWriter, Head, MAX_REQUEST_BYTES, read_frame, socket_name, write_frame,
};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::{Ended, gpuprof};

const TIME_LINE: &[u8] = b"{\"traceEvents\":[]}";

/// A program, and the command that has asked it for a time line.
struct Recording {
    folder: TempDir,
    command: Child,
    program: UnixStream,
}

impl Recording {
    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let sockets = folder.path().join("gpuprof");
        fs::create_dir(&sockets).expect("a folder in it");
        fs::set_permissions(&sockets, Permissions::from_mode(0o700)).expect("it is ours");
        let listener = UnixListener::bind(sockets.join(socket_name(7))).expect("a socket");
        fs::create_dir(folder.path().join("out")).expect("a folder in it");
        let mut command = gpuprof(&["trace", "7", "--for", "10m", "-o", "out/now.json"]);
        let command = command
            .current_dir(folder.path())
            .env("XDG_RUNTIME_DIR", folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command");
        let (mut program, _) = listener.accept().expect("the command connects");
        assert_eq!(request(&mut program), b"hello");
        send_head(&mut program);
        assert_eq!(request(&mut program), b"trace 600000 json");
        Self {
            folder,
            command,
            program,
        }
    }

    fn signal(&self, signal: Signal) {
        let command = i32::try_from(self.command.id())
            .ok()
            .and_then(Pid::from_raw);
        kill_process(command.expect("a process id"), signal).expect("it runs");
    }

    /// Waits until the command has enough.
    fn wait(&mut self) {
        assert_eq!(
            self.program.read(&mut [0]).expect("its side is shut down"),
            0
        );
    }
}

fn request(program: &mut UnixStream) -> Vec<u8> {
    let frame = read_frame(program, MAX_REQUEST_BYTES).expect("a request");
    frame.expect("a request")
}

fn send_head(program: &mut UnixStream) {
    let head = Head::new("train", 7).to_json();
    write_frame(program, head.as_bytes()).expect("the command reads");
}

fn files(folder: &Path) -> Vec<String> {
    let files = fs::read_dir(folder.join("out")).expect("the folder");
    let name = |file: fs::DirEntry| file.file_name().to_string_lossy().into_owned();
    files.map(|file| name(file.expect("a file"))).collect()
}

#[test]
fn the_first_signal_ends_the_recording_and_writes_it() {
    for signal in [Signal::INT, Signal::TERM] {
        let mut recording = Recording::start();
        recording.signal(signal);
        recording.wait();
        send_head(&mut recording.program);
        let mut document = DocumentWriter::new(&mut recording.program);
        document.write_all(TIME_LINE).expect("the command reads");
        document.end().expect("the command reads");
        let Recording {
            folder, command, ..
        } = recording;
        let ended = Ended::from(command.wait_with_output().expect("it ends"));
        assert_eq!((ended.code, &*ended.stderr), (Some(0), ""));
        assert_eq!(files(folder.path()), ["now.json"]);
        let written = fs::read(folder.path().join("out/now.json"));
        assert_eq!(written.expect("the file"), TIME_LINE);
    }
}

#[test]
fn the_second_signal_leaves_no_file() {
    let mut recording = Recording::start();
    recording.signal(Signal::INT);
    recording.wait();
    recording.signal(Signal::INT);
    let command = recording.command.wait().expect("it ends");
    assert_eq!(command.code(), Some(2));
    assert_eq!(files(recording.folder.path()), [""; 0]);
}
