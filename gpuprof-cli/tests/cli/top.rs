//! `gpuprof top` on a terminal: it ends with it, and on a signal whatever the terminal does.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::{Child, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Action, LocalModes, Winsize, tcflow, tcgetattr, tcsetwinsize};

use super::{SMALL, gpuprof, live_program};

/// What a program that ends at once may take on a busy machine.
const LIMIT: Duration = Duration::from_secs(20);

/// The user's end of a terminal, and the program's.
struct Terminal {
    user: File,
    program: File,
}

impl Terminal {
    fn new() -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let user = openpt(flags).expect("a terminal");
        grantpt(&user).expect("it is ours");
        unlockpt(&user).expect("it is ours");
        let name = ptsname(&user, Vec::new()).expect("a name");
        let name = PathBuf::from(std::ffi::OsStr::from_bytes(name.as_bytes()));
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        options.custom_flags(OFlags::NOCTTY.bits().cast_signed());
        let program = options.open(name).expect("a terminal");
        let size = Winsize {
            ws_row: 24,
            ws_col: 80,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&program, size).expect("a size");
        Self {
            user: File::from(user),
            program,
        }
    }

    fn program(&self) -> File {
        self.program.try_clone().expect("a descriptor")
    }

    /// Reads until the screen has shown `text`.
    fn wait_for(&mut self, text: &str) {
        let (mut shown, mut bytes) = (Vec::new(), [0; 4096]);
        while !String::from_utf8_lossy(&shown).contains(text) {
            let read = self.user.read(&mut bytes).expect("the screen");
            shown.extend_from_slice(&bytes[..read]);
        }
    }

    fn is_raw(&self) -> bool {
        let modes = tcgetattr(&self.program).expect("a terminal").local_modes;
        !modes.contains(LocalModes::ICANON)
    }
}

/// The command with its keys from one terminal and its screen on another, once it is drawn.
fn watching(keys: &Terminal, screen: &mut Terminal) -> (Child, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    live_program::serve(folder.path(), 41, SMALL);
    let mut command = gpuprof(&["top", "41"]);
    command.env("XDG_RUNTIME_DIR", folder.path());
    command.stdin(keys.program()).stdout(screen.program());
    let child = command.stderr(screen.program()).spawn();
    screen.wait_for("quit");
    (child.expect("the command"), folder)
}

/// How it ends; killed if it does not.
fn end_of(child: &mut Child) -> Option<ExitStatus> {
    let began = Instant::now();
    while began.elapsed() < LIMIT {
        if let Some(status) = child.try_wait().expect("our child") {
            return Some(status);
        }
        thread::sleep(Duration::from_millis(10));
    }
    child.kill().expect("our child");
    child.wait().expect("our child");
    None
}

fn terminate(child: &Child) {
    let id = Pid::from_raw(child.id().cast_signed()).expect("an id");
    kill_process(id, Signal::TERM).expect("our child");
}

#[test]
fn it_ends_if_its_terminal_is_gone() {
    let mut terminal = Terminal::new();
    let keys = Terminal {
        user: terminal.user.try_clone().expect("a descriptor"),
        program: terminal.program(),
    };
    let (mut child, _folder) = watching(&keys, &mut terminal);
    drop((terminal, keys));
    assert!(end_of(&mut child).is_some(), "it went on");
}

#[test]
fn it_ends_and_gives_the_screen_back_if_no_key_can_come_any_more() {
    let (keys, mut screen) = (Terminal::new(), Terminal::new());
    let (mut child, _folder) = watching(&keys, &mut screen);
    drop(keys);
    assert!(end_of(&mut child).is_some(), "it went on");
    screen.wait_for("\u{1b}[?1049l");
}

#[test]
fn a_signal_ends_it_and_gives_the_terminal_back() {
    let (keys, mut screen) = (Terminal::new(), Terminal::new());
    let (mut child, _folder) = watching(&keys, &mut screen);
    assert!(keys.is_raw());
    terminate(&child);
    let status = end_of(&mut child).expect("it ends");
    assert_eq!(status.code(), Some(1));
    assert!(!keys.is_raw());
    screen.wait_for("\u{1b}[?1049l");
}

#[test]
fn a_signal_ends_it_while_the_terminal_is_stopped() {
    let (keys, mut screen) = (Terminal::new(), Terminal::new());
    let (mut child, _folder) = watching(&keys, &mut screen);
    tcflow(&screen.program, Action::OOff).expect("as Ctrl-S does");
    // It has begun to wait for the terminal.
    thread::sleep(Duration::from_millis(300));
    terminate(&child);
    let status = end_of(&mut child).expect("it ends");
    assert_eq!(status.code(), Some(1));
    assert!(!keys.is_raw());
}
