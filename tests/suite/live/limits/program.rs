//! The programs that the tests of `limits.rs` and `access.rs` run.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::time::Duration;
use std::{env, thread};

use gpuprof::gpu_profile;

use crate::files::{hear_from_test, say_to_test};

/// The folder and the name of a socket, for a scenario that connects to it.
pub(crate) const SOCKET_FOLDER: &str = "GPUPROF_TEST_SOCKET_FOLDER";
pub(crate) const SOCKET_NAME: &str = "GPUPROF_TEST_SOCKET_NAME";

#[gpu_profile(cpu)]
fn tick() {}

pub(crate) fn run(scenario: &str) -> ExitCode {
    if scenario == "stranger" {
        return stranger();
    }
    (0..3).for_each(|_| tick());
    match scenario {
        "serving" => {
            support::program::ready();
            hear_from_test("end");
        }
        "ending" => {
            support::program::ready();
            thread::sleep(Duration::from_millis(300));
        }
        "forking" => fork(),
        _ => panic!("no scenario {scenario}"),
    }
    (0..4).for_each(|_| tick());
    ExitCode::SUCCESS
}

/// Leaves a child when the test says so, and goes on.
fn fork() {
    support::program::ready();
    hear_from_test("fork");
    // SAFETY: the child calls nothing that another thread may have locked.
    if unsafe { libc::fork() } == 0 {
        hear_from_test("end");
        std::process::exit(0);
    }
    say_to_test("forked");
    hear_from_test("end");
}

/// Connects as another user. Prints what comes back.
fn stranger() -> ExitCode {
    let folder = env::var_os(SOCKET_FOLDER).expect("the test sets it");
    let name = env::var_os(SOCKET_NAME).expect("the test sets it");
    env::set_current_dir(folder).expect("this user may");
    const NOBODY: u32 = 65_534;
    // SAFETY: the call takes a number.
    assert_eq!(unsafe { libc::setuid(NOBODY) }, 0);
    let mut stream = UnixStream::connect(name).expect("the test opened the folder");
    // The other side may have closed it already.
    let _ = stream.write_all(b"\0\0\0\x05hello");
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    print!("{} bytes", answer.len());
    ExitCode::SUCCESS
}
