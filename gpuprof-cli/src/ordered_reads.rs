//! Reading many files on all cores, with their results in the order of the files.

use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

/// Calls `read` for the files on all cores, and `take` with each result in the order of the files,
/// whichever was read first, until `take` returns a break. A thread holds one result at a time.
///
/// A terminal on standard error shows the progress; `take` may write lines there after
/// [`clear_progress`].
///
/// # Panics
/// If `read` or `take` does; no other file is read then.
pub(crate) fn for_each<T, B: Send>(
    files: &[PathBuf],
    read: impl Fn(usize, &Path) -> T + Sync,
    take: impl FnMut(usize, T) -> ControlFlow<B> + Send,
) -> ControlFlow<B> {
    let state = Mutex::new(ReadState {
        take,
        done: 0,
        is_broken: false,
        end: ControlFlow::Continue(()),
    });
    let turn = Condvar::new();
    let next = AtomicUsize::new(0);
    let has_terminal = io::stderr().is_terminal();
    let work = || {
        // Otherwise the others would wait for the result of a thread that has panicked.
        let _guard = OnPanic(|| {
            next.store(files.len(), Ordering::Relaxed);
            state
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .is_broken = true;
            turn.notify_all();
        });
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(file) = files.get(number) else {
                break;
            };
            let result = read(number, file);
            let state = state.lock().unwrap_or_else(PoisonError::into_inner);
            let mut state = turn
                .wait_while(state, |state| !state.is_broken && state.done != number)
                .unwrap_or_else(PoisonError::into_inner);
            if state.is_broken {
                break;
            }
            if state.end.is_continue() {
                state.end = (state.take)(number, result);
            }
            if state.end.is_break() {
                // Nothing is left to read.
                next.store(files.len(), Ordering::Relaxed);
            }
            state.done += 1;
            show_progress(has_terminal, state.done, files.len());
            turn.notify_all();
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads.min(files.len()) {
            scope.spawn(work);
        }
    });
    clear_progress();
    let state = state.into_inner();
    state.unwrap_or_else(PoisonError::into_inner).end
}

/// What is shared by the threads that read.
struct ReadState<F, B> {
    take: F,
    /// Files whose result was taken.
    done: usize,
    /// A thread has panicked.
    is_broken: bool,
    end: ControlFlow<B>,
}

/// Calls the function if it is dropped by a panic.
struct OnPanic<F: Fn()>(F);

impl<F: Fn()> Drop for OnPanic<F> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0();
        }
    }
}

/// Columns of the progress bar.
const BAR: usize = 30;

/// Draws how many files are done, a hundred times in all.
fn show_progress(has_terminal: bool, done: usize, files: usize) {
    let is_due = done.is_multiple_of((files / 100).max(1));
    if has_terminal && is_due {
        let full = done * BAR / files;
        let _ = write!(
            io::stderr(),
            "\r[{}{}] {done} of {files} files",
            "#".repeat(full),
            "-".repeat(BAR - full)
        );
    }
}

/// Removes the progress bar from the terminal, if there is one.
pub(crate) fn clear_progress() {
    if io::stderr().is_terminal() {
        let _ = write!(io::stderr(), "\r\x1b[K");
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{self, AssertUnwindSafe};
    use std::time::Duration;

    use super::*;

    /// The files taken of ten, of which the first takes longest to read, and how it ended.
    fn taken(last: usize) -> (Vec<(usize, PathBuf)>, ControlFlow<usize>) {
        let files: Vec<PathBuf> = (0..10).map(|number| number.to_string().into()).collect();
        let mut taken = Vec::new();
        let read = |number: usize, file: &Path| {
            if number == 0 {
                thread::sleep(Duration::from_millis(50));
            }
            file.to_owned()
        };
        let end = for_each(&files, read, |number, file| {
            taken.push((number, file));
            if number == last {
                ControlFlow::Break(number)
            } else {
                ControlFlow::Continue(())
            }
        });
        (taken, end)
    }

    #[test]
    fn results_are_taken_in_the_order_of_the_files() {
        let numbered = |number: usize| (number, PathBuf::from(number.to_string()));
        let (found, end) = taken(10);
        assert_eq!(found, (0..10).map(numbered).collect::<Vec<_>>());
        assert_eq!(end, ControlFlow::Continue(()));
    }

    #[test]
    fn a_panic_ends_it() {
        let files = vec![PathBuf::new(); 10];
        let mut taken = 0;
        let ended = panic::catch_unwind(AssertUnwindSafe(|| {
            for_each(
                &files,
                |number, _| assert_ne!(number, 3, "as the test wants it"),
                |_, ()| {
                    taken += 1;
                    ControlFlow::<()>::Continue(())
                },
            )
        }));
        assert!(ended.is_err());
        assert!(taken <= 3, "{taken}");
    }

    #[test]
    fn nothing_is_taken_after_a_break() {
        let (found, end) = taken(3);
        assert_eq!((found.len(), end), (4, ControlFlow::Break(3)));
    }
}
