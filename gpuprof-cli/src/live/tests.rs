//! Programs that are gone, many, of others, and hostile.

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::thread;

use gpuprof_report::live::{Head, MAX_REQUEST_BYTES, read_frame, socket_name, write_frame};
use tempfile::TempDir;

use super::programs::connect_in;
use super::{LiveError, ProgramConnection};

/// A folder of sockets.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::set_permissions(folder.path(), Permissions::from_mode(0o700)).expect("it is ours");
    folder
}

fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// A program that answers its first requests with these bytes, one after the other, and then ends
/// the connection. Returns the connection to it, if its first answer is one to `hello`.
pub(crate) fn answering(answers: Vec<Vec<u8>>) -> Result<ProgramConnection, LiveError> {
    let folder = folder();
    let path = folder.path().join(socket_name(7));
    serve(&path, answers);
    ProgramConnection::open(&path, user())
}

fn serve(path: &Path, answers: Vec<Vec<u8>>) {
    let listener = UnixListener::bind(path).expect("a socket");
    thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            for answer in &answers {
                if !matches!(read_frame(&mut stream, MAX_REQUEST_BYTES), Ok(Some(_))) {
                    break;
                }
                // A viewer may end the connection at once.
                let _ = stream.write_all(answer);
            }
        }
    });
}

fn frame(content: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    write_frame(&mut frame, content).expect("memory");
    frame
}

fn hello(program: &str, pid: u32) -> Vec<u8> {
    frame(Head::new(program, pid).to_json().as_bytes())
}

fn problem(folder: &Path, target: &str) -> String {
    match connect_in(folder, user(), target) {
        Ok(found) => panic!("{found:?}"),
        Err(problem) => problem,
    }
}

#[test]
fn a_program_is_found_by_id_and_by_name() {
    let folder = folder();
    serve(
        &folder.path().join(socket_name(41)),
        vec![hello("train", 41)],
    );
    serve(
        &folder.path().join(socket_name(42)),
        vec![hello("serve", 42)],
    );
    for target in ["41", "train"] {
        let found = connect_in(folder.path(), user(), target).expect("it answers");
        assert_eq!((found.pid, &*found.program), (41, "train"));
    }
    assert_eq!(
        problem(folder.path(), "other"),
        "other: no program of this name offers a live view; there are: 41 train, 42 serve"
    );
    let this = std::process::id().to_string();
    let offers_none = format!("{this}: this process offers no live view");
    assert!(problem(folder.path(), &this).starts_with(&offers_none));
    let none = u32::MAX.to_string();
    let expected = format!("{none}: there is no such process");
    assert_eq!(problem(folder.path(), &none), expected);
}

#[test]
fn of_several_programs_of_a_name_the_ids_are_listed() {
    let folder = folder();
    for pid in [41, 42] {
        serve(
            &folder.path().join(socket_name(pid)),
            vec![hello("train", pid)],
        );
    }
    assert_eq!(
        problem(folder.path(), "train"),
        "train: 2 programs of this name run; name one by its process id: 41, 42"
    );
}

#[test]
fn a_folder_that_others_can_use_is_not_looked_at() {
    let folder = folder();
    serve(
        &folder.path().join(socket_name(41)),
        vec![hello("train", 41)],
    );
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("it is ours");
    assert!(problem(folder.path(), "41").ends_with("its mode is 0755, not 0700"));
    let missing = folder.path().join("missing");
    assert!(problem(&missing, "41").starts_with("41: no program offers a live view; start it"));
}

#[test]
fn a_socket_of_another_user_is_refused() {
    let folder = folder();
    let path = folder.path().join(socket_name(41));
    serve(&path, vec![hello("train", 41)]);
    let error = ProgramConnection::open(&path, user() + 1).expect_err("it is another user's");
    assert!(matches!(error, LiveError::OtherUser), "{error}");
}

#[test]
fn a_socket_that_nobody_listens_on_is_removed() {
    let folder = folder();
    let path = folder.path().join(socket_name(41));
    drop(UnixListener::bind(&path).expect("a socket"));
    assert!(problem(folder.path(), "train").starts_with("train: no program offers a live view"));
    assert!(!path.exists());
}

#[test]
fn another_protocol_a_refusal_and_an_end_are_told_apart() {
    let other = frame(br#"{"protocol": "gpuprof.live/2"}"#);
    let error = answering(vec![other])
        .expect_err("another protocol")
        .to_string();
    assert!(error.starts_with("the program speaks gpuprof.live/2, this command gpuprof.live/1"));
    let refusal = Head::new("train", 7).with_error("no\u{1b}[31m");
    let error = answering(vec![frame(refusal.to_json().as_bytes())]).expect_err("a refusal");
    assert!(!error.to_string().contains('\u{1b}'), "{error}");
    let error = answering(vec![Vec::new()]);
    assert!(matches!(error, Err(LiveError::Ended)), "{error:?}");
    let cut = hello("train", 7)[..9].to_vec();
    let mut connection = answering(vec![hello("train", 7), cut]).expect("it answers");
    let error = connection.changes();
    assert!(matches!(error, Err(LiveError::Ended)), "{error:?}");
}

#[test]
fn a_program_that_is_stopped_is_not_waited_for() {
    let folder = folder();
    let path = folder.path().join(socket_name(41));
    // The system accepts for it.
    let _listener = UnixListener::bind(&path).expect("a socket");
    let error = ProgramConnection::open(&path, user());
    assert!(matches!(error, Err(LiveError::TooSlow)), "{error:?}");
}
