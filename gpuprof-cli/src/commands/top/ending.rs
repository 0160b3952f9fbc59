//! Ends the screen on a signal, and if its terminal is gone. The loop that reads keys is
//! crossterm's and never returns from the end of its input.

use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{LeaveAlternateScreen, disable_raw_mode};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::low_level::pipe;

/// Without a handler these would leave the terminal as it is.
const SIGNALS: [i32; 4] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];

/// How long the screen may take to end by itself.
const GRACE: Duration = Duration::from_millis(500);

/// Longest delay if the system reports a hang-up to readers alone.
const LOOK: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};

/// Starts a thread that sets `is_over` on a signal or a hang-up, and ends the process with `code`
/// if it then goes on.
///
/// # Errors
/// The system's.
pub(super) fn watch(is_over: Arc<AtomicBool>, code: u8) -> io::Result<()> {
    let (signals, sender) = UnixStream::pair()?;
    for signal in SIGNALS {
        pipe::register(signal, sender.try_clone()?)?;
    }
    // As crossterm chooses where keys come from.
    let keys: Box<dyn AsFd + Send> = if io::stdin().is_terminal() {
        Box::new(io::stdin())
    } else {
        Box::new(File::open("/dev/tty")?)
    };
    thread::Builder::new().spawn(move || {
        wait(&signals, &*keys);
        is_over.store(true, Relaxed);
        thread::sleep(GRACE);
        restore_terminal();
        process::exit(code.into());
    })?;
    Ok(())
}

/// Returns after a signal or a hang-up.
fn wait(signals: &UnixStream, keys: &dyn AsFd) {
    let screen = io::stdout();
    loop {
        let mut watched = [
            PollFd::new(signals, PollFlags::IN),
            PollFd::from_borrowed_fd(keys.as_fd(), PollFlags::empty()),
            PollFd::new(&screen, PollFlags::empty()),
        ];
        // An interrupted wait leaves no results.
        let is_known = poll(&mut watched, Some(&LOOK)).is_ok();
        if is_known && watched.iter().any(|one| !one.revents().is_empty()) {
            return;
        }
    }
}

/// Gives the terminal back, as far as it can be reached.
pub(super) fn restore_terminal() {
    let _ = disable_raw_mode();
    let mut screen = io::stdout();
    let mut writable = [PollFd::new(&screen, PollFlags::OUT)];
    // A stopped terminal (Ctrl-S) would block, and the screen may wait for it with the lock.
    if poll(&mut writable, Some(&Timespec::default())).is_ok_and(|ready| ready > 0) {
        let _ = execute!(screen, LeaveAlternateScreen, Show);
    }
}
