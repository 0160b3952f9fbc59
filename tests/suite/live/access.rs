//! Promise: only the same user can connect, and the socket is there while the program is.

use std::fs::{self, Permissions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread;
use std::time::{Duration, Instant};

use support::program::{Folder, Program, Running};
use support::suite::Module;
use support::tests;

use crate::files::{hear, program, say, start};
use crate::limits::program::{SOCKET_FOLDER, SOCKET_NAME, run};
use support::viewer::{Viewer, socket};

pub(crate) const MODULE: Module = Module::new(module_path!(), &[TESTS]).with_program(run);

/// Every test of this file.
const TESTS: &[(&str, fn())] = tests![
    folder_and_socket_are_closed_to_others,
    another_user_is_refused,
    a_folder_that_others_can_use_is_refused,
    nothing_is_offered_unless_it_is_asked_for,
    the_socket_is_removed_at_the_end,
    sockets_of_ended_processes_are_removed,
    a_forked_child_offers_nothing,
];

fn mode(path: &std::path::Path) -> u32 {
    let found = fs::symlink_metadata(path).expect("it is there");
    found.mode() & 0o7777
}

fn folder_and_socket_are_closed_to_others() {
    let folder = Folder::create();
    let running = start("serving", &folder);
    assert_eq!(mode(&folder.path("gpuprof")), 0o700);
    assert_eq!(mode(&socket(&folder, &running)), 0o600);
}

/// As root, which may become another user. For others `cargo xtask test` says that it is not
/// tested.
fn another_user_is_refused() {
    // SAFETY: the call takes nothing and cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        return;
    }
    let folder = Folder::create();
    let running = start("serving", &folder);
    let file = socket(&folder, &running);
    // With the folder and the socket open, the program itself must refuse.
    let sockets = folder.path("gpuprof");
    fs::set_permissions(&sockets, Permissions::from_mode(0o711)).expect("the folder is ours");
    fs::set_permissions(&file, Permissions::from_mode(0o777)).expect("the socket is ours");
    let stranger = Program::new("stranger")
        .env(SOCKET_FOLDER, &sockets)
        .env(SOCKET_NAME, file.file_name().expect("a name"))
        .run();
    assert!(stranger.status.success(), "{}", stranger.stderr);
    assert_eq!(stranger.stdout, b"0 bytes");
    assert_eq!(
        Viewer::connect(&folder, &running)
            .ask("hello")
            .expect("an answer")
            .error,
        None
    );
}

fn refused(prepare: impl FnOnce(&Folder), reason: &str) {
    let folder = Folder::create();
    prepare(&folder);
    let ended = program("ending", &folder).run();
    assert!(ended.status.success());
    assert_eq!(ended.reports(), 1);
    let [remark] = &*ended.remarks() else {
        panic!("one line: {}", ended.stderr);
    };
    assert!(
        remark.starts_with("gpuprof: GPUPROF_LIVE has no effect: "),
        "{remark}"
    );
    assert!(remark.ends_with(reason), "{remark}");
}

fn a_folder_that_others_can_use_is_refused() {
    let make = |folder: &Folder, mode| {
        fs::create_dir(folder.path("gpuprof")).expect("the folder can be written");
        fs::set_permissions(folder.path("gpuprof"), Permissions::from_mode(mode)).expect("ours");
    };
    refused(|folder| make(folder, 0o755), "its mode is 0755, not 0700");
    refused(
        |folder| {
            fs::create_dir(folder.path("elsewhere")).expect("the folder can be written");
            let elsewhere = folder.path("elsewhere");
            fs::set_permissions(&elsewhere, Permissions::from_mode(0o700)).expect("ours");
            symlink(elsewhere, folder.path("gpuprof")).expect("a link");
        },
        "it is not a folder",
    );
}

fn nothing_is_offered_unless_it_is_asked_for() {
    for (name, value) in [
        ("GPUPROF_LIVE", "off"),
        ("GPUPROF", "off"),
        ("GPUPROF", "nvtx"),
    ] {
        let folder = Folder::create();
        let ended = program("ending", &folder).env(name, value).run();
        assert!(ended.status.success());
        assert_eq!(folder.files(), [""; 0], "{name}={value}");
    }
}

fn the_socket_is_removed_at_the_end() {
    let folder = Folder::create();
    let running = start("serving", &folder);
    assert!(socket(&folder, &running).exists());
    let mut viewer = Viewer::connect(&folder, &running);
    assert_eq!(viewer.ask("hello").expect("an answer").error, None);
    say(&folder, "end");
    assert!(running.end().status.success());
    let left = fs::read_dir(folder.path("gpuprof")).expect("the folder stays");
    assert_eq!(left.count(), 0);
    assert!(viewer.ask("hello").is_err(), "the connection ends");
}

fn sockets_of_ended_processes_are_removed() {
    let folder = Folder::create();
    let killed = start("serving", &folder);
    let stale = socket(&folder, &killed);
    drop(killed);
    assert!(stale.exists());
    // Nobody's process, but somebody listens: a process of another container has such a number.
    let other = folder.path("gpuprof").join("4000000001.sock");
    let _listener = UnixListener::bind(&other).expect("the folder can be written");
    let file = folder.path("gpuprof").join("notes.sock");
    fs::write(&file, "").expect("the folder can be written");
    let running = start("serving", &folder);
    let began = Instant::now();
    while stale.exists() {
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "it is still there"
        );
        thread::sleep(Duration::from_millis(1));
    }
    assert!(other.exists() && file.exists() && socket(&folder, &running).exists());
}

fn a_forked_child_offers_nothing() {
    let folder = Folder::create();
    let running = start("forking", &folder);
    let file = socket(&folder, &running);
    let mut viewer = Viewer::connect(&folder, &running);
    assert_eq!(viewer.ask("hello").expect("an answer").error, None);
    say(&folder, "fork");
    hear(&folder, "forked");
    kill(running);
    viewer
        .0
        .set_read_timeout(Some(Duration::from_secs(10)))
        .expect("a limit");
    // The child still runs, and has no copy of the socket or of a connection.
    let error = UnixStream::connect(&file).expect_err("nobody listens");
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    assert_eq!(viewer.0.read(&mut [0]).expect("the end"), 0);
    say(&folder, "end");
}

/// Ends the process at once, and not its children.
fn kill(running: Running) {
    running.signal(libc::SIGKILL);
    drop(running);
}
