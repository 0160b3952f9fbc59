//! A program that runs in the foreground: it gets the signals that reach this process.

use std::fmt;
use std::fs;
use std::io::{self, ErrorKind};
use std::process::{self, Command, ExitStatus};

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::low_level::siginfo::Cause;

use crate::machine::permissions::field;

/// The signals that are passed on.
const PASSED_ON: [i32; 4] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];

/// A running program.
pub(crate) struct Child {
    process: process::Child,
    signals: SignalsInfo<WithOrigin>,
}

/// Why a program does not run.
#[derive(Debug)]
pub(crate) struct StartError(io::Error);

impl Child {
    /// Starts the program. From then on, signals end this process no more.
    pub(crate) fn start(mut command: Command) -> Result<Self, StartError> {
        // A signal that this process was started to ignore, as by nohup, stays ignored: a handler
        // would make it deadly for the program.
        let ignored = ignored_signals();
        let passed_on = PASSED_ON
            .into_iter()
            .filter(|signal| ignored >> (signal - 1) & 1 == 0);
        let signals = SignalsInfo::new(passed_on.chain([SIGCHLD])).map_err(StartError)?;
        let process = command.spawn().map_err(StartError)?;
        Ok(Self { process, signals })
    }

    /// Waits for the program to end, and passes signals on until then.
    pub(crate) fn wait(mut self) -> Result<ExitStatus, StartError> {
        loop {
            // Until its end is waited for, no other process gets this id, so that no signal strays.
            if let Some(status) = self.process.try_wait().map_err(StartError)? {
                return Ok(status);
            }
            for origin in self.signals.wait() {
                if origin.signal != SIGCHLD && is_for_one_process(origin.cause) {
                    self.pass_on(origin.signal);
                }
            }
        }
    }

    fn pass_on(&self, signal: i32) {
        let id = i32::try_from(self.process.id())
            .ok()
            .and_then(Pid::from_raw);
        if let Some((id, signal)) = id.zip(Signal::from_named_raw(signal)) {
            // It fails if the program has ended, or runs as another user.
            let _ = kill_process(id, signal);
        }
    }
}

/// Whether a signal reached this process alone. Those of the kernel come from the terminal, which
/// sends them to the program as well: a second interrupt would end it without its report.
fn is_for_one_process(cause: Cause) -> bool {
    cause != Cause::Kernel
}

/// The signals that this process ignores, the lowest bit for signal 1.
fn ignored_signals() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = field(&status, "SigIgn");
    let mask = mask.and_then(|mask| u64::from_str_radix(mask, 16).ok());
    mask.unwrap_or(0)
}

impl StartError {
    /// The exit code that shells have for it.
    pub(crate) fn code(&self) -> u8 {
        match self.0.kind() {
            ErrorKind::NotFound => 127,
            _ => 126,
        }
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot be started: {}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use signal_hook::low_level::siginfo::Sent;

    use super::*;

    #[test]
    fn what_the_terminal_sends_to_both_is_not_sent_again() {
        assert!(!is_for_one_process(Cause::Kernel));
        for sent in [Sent::User, Sent::TKill, Sent::Queue] {
            assert!(is_for_one_process(Cause::Sent(sent)), "{sent:?}");
        }
    }
}
