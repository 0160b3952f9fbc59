//! The program that the tests of `listener.rs` run, by scenario.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;
use std::{env, fs};

use gpuprof::gpu_profile;

use crate::many_functions;

#[gpu_profile(cpu)]
fn tick() {}

pub(super) fn run(scenario: &str) -> ExitCode {
    // All runtimes of tokio share two sockets, which the first one makes.
    drop(
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build(),
    );
    let before = open_descriptors();
    (0..3).for_each(|_| tick());
    match scenario {
        "serving" | "many" => {
            if scenario == "many" {
                many_functions::all().iter().for_each(|call| call());
            }
            support::program::ready();
            // Until the test kills it.
            thread::sleep(Duration::from_secs(600));
        }
        "ending" => {
            support::program::ready();
            thread::sleep(Duration::from_millis(300));
        }
        "forking" => fork(),
        "forking with a client" => fork_with_client(&before),
        _ => panic!("no scenario {scenario}"),
    }
    ExitCode::SUCCESS
}

/// Ends, and leaves a child that says it is ready once its parent has ended.
fn fork() {
    let parent = std::process::id();
    // SAFETY: the child calls nothing that another thread may have locked.
    if unsafe { libc::fork() } == 0 {
        // SAFETY: the call takes nothing and cannot fail.
        while unsafe { libc::getppid() }.unsigned_abs() == parent {
            thread::sleep(Duration::from_millis(1));
        }
        support::program::ready();
        thread::sleep(Duration::from_secs(5));
        std::process::exit(0);
    }
}

/// What each descriptor is open to.
fn open_descriptors() -> BTreeMap<i32, PathBuf> {
    let entries = fs::read_dir("/proc/self/fd").expect("/proc").flatten();
    let found = entries.filter_map(|entry| {
        let number = entry.file_name().to_str()?.parse().ok()?;
        Some((number, fs::read_link(entry.path()).ok()?))
    });
    // Without that of the folder, which is closed by now.
    let is_open = |number: &i32| fs::metadata(format!("/proc/self/fd/{number}")).is_ok();
    let found: Vec<_> = found.collect();
    found
        .into_iter()
        .filter(|(number, _)| is_open(number))
        .collect()
}

/// Forks while a client is connected. The child prints what it has open that the process had not
/// before gpuprof began.
fn fork_with_client(before: &BTreeMap<i32, PathBuf>) {
    let port = env::var("GPUPROF_METRICS").expect("a port");
    let port: u16 = port["listen=".len()..].parse().expect("a port");
    let mut client = TcpStream::connect(("127.0.0.1", port)).expect("somebody listens");
    client.write_all(b"GET /").expect("sent");
    // The listener accepts it.
    thread::sleep(Duration::from_millis(500));
    // SAFETY: the child calls nothing that another thread may have locked.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let mut kept = open_descriptors();
        kept.retain(|number, _| !before.contains_key(number) && *number != client.as_raw_fd());
        println!("{kept:?}");
        std::process::exit(0);
    }
    // SAFETY: the pointer may be null.
    unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
}
