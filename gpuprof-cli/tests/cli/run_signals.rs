//! `gpuprof run`: signals reach the program.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::ended;

/// Has `env` of coreutils run a program with the default actions of these signals, which whoever
/// runs the tests may ignore.
const DEFAULT_SIGNALS: &str = "--default-signal=HUP,INT,QUIT,TERM";

/// The command with a program that says `ready`, once that has been read.
fn started(script: &str) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut command = std::process::Command::new("env");
    command.args([DEFAULT_SIGNALS, env!("CARGO_BIN_EXE_gpuprof")]);
    command.args(["run", "--", "sh", "-c", script]);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command.stderr(Stdio::null());
    let mut child = command.spawn().expect("the command");
    let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut line = String::new();
    stdout.read_line(&mut line).expect("a line");
    assert_eq!(line, "ready\n");
    (child, stdout)
}

fn send(child: &Child, signal: Signal) {
    let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    kill_process(id.expect("an id"), signal).expect("a running process");
}

#[test]
fn signals_reach_the_program_which_decides_what_they_do() {
    for (name, signal, code) in [
        ("HUP", Signal::HUP, 129),
        ("INT", Signal::INT, 130),
        ("TERM", Signal::TERM, 143),
    ] {
        let (mut child, _stdout) = started("echo ready; exec sleep 600");
        send(&child, signal);
        let status = child.wait().expect("the command");
        assert_eq!(status.code(), Some(code), "{name}");

        let script =
            format!("trap 'echo caught; exit 9' {name}; echo ready; while :; do sleep 0.01; done");
        let (mut child, mut stdout) = started(&script);
        send(&child, signal);
        let mut line = String::new();
        stdout.read_line(&mut line).expect("a line");
        let status = child.wait().expect("the command");
        assert_eq!((&*line, status.code()), ("caught\n", Some(9)), "{name}");
    }
}

#[test]
fn an_interrupt_of_the_terminal_reaches_the_program_and_its_status_is_kept() {
    let program = r#"sh -c 'trap "exit 41" INT; echo ready; read line; read line'"#;
    let gpuprof = env!("CARGO_BIN_EXE_gpuprof");
    let command = format!("exec env {DEFAULT_SIGNALS} {gpuprof} run -- {program}");
    // Of util-linux: runs the command in a terminal of its own.
    let mut script = std::process::Command::new("script");
    script.args(["--quiet", "--return", "--command", &command, "/dev/null"]);
    script.env("SHELL", "/bin/sh");
    script.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut script = script
        .spawn()
        .expect("script, of the package bsdutils or util-linux");
    let mut stdout = BufReader::new(script.stdout.take().expect("a pipe"));
    let mut line = String::new();
    stdout.read_line(&mut line).expect("a line");
    assert_eq!(line.trim_end(), "ready");
    let mut keyboard = script.stdin.take().expect("a pipe");
    keyboard.write_all(b"\x03\n").expect("a terminal");
    assert_eq!(script.wait().expect("script").code(), Some(41));
}

#[test]
fn a_signal_that_is_ignored_stays_ignored() {
    let script = "trap '' HUP; exec \"$0\" run -- sh -c 'grep SigIgn /proc/self/status'";
    let mut command = std::process::Command::new("env");
    command.args([DEFAULT_SIGNALS, "sh", "-c", script]);
    command.arg(env!("CARGO_BIN_EXE_gpuprof"));
    let ended = ended(command);
    let mask = ended.stdout.trim().rsplit('\t').next().expect("a mask");
    let mask = u64::from_str_radix(mask, 16).expect("a mask");
    assert_eq!(mask & 0b11, 0b01, "SIGHUP and not SIGINT: {ended:?}");
}
