//! Reading many files on all cores, with their results in the order of the files.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::panic;
use std::path::{Path, PathBuf};
use std::thread;

/// Calls `read` for the files on all cores, and `take` with each result in the order of the files,
/// until `take` returns a break. There are as many results at once as cores.
///
/// # Panics
/// If `read` or `take` does.
pub(crate) fn for_each<T: Send, B>(
    files: &[PathBuf],
    read: impl Fn(usize, &Path) -> T + Sync,
    mut take: impl FnMut(usize, T) -> ControlFlow<B>,
) -> ControlFlow<B> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let (mut files, read) = (files.iter().enumerate(), &read);
    thread::scope(|scope| {
        let mut reads = VecDeque::with_capacity(cores);
        loop {
            let room = cores - reads.len();
            for (number, file) in files.by_ref().take(room) {
                reads.push_back((number, scope.spawn(move || read(number, file))));
            }
            let Some((number, first)) = reads.pop_front() else {
                return ControlFlow::Continue(());
            };
            let result = first.join();
            take(
                number,
                result.unwrap_or_else(|why| panic::resume_unwind(why)),
            )?;
        }
    })
}

#[cfg(test)]
mod tests {
    use std::panic::AssertUnwindSafe;
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
        let read = |number, _: &Path| assert_ne!(number, 3, "as the test wants it");
        let take = |_, ()| {
            taken += 1;
            ControlFlow::<()>::Continue(())
        };
        let ended = panic::catch_unwind(AssertUnwindSafe(|| for_each(&files, read, take)));
        assert!(ended.is_err());
        assert_eq!(taken, 3);
    }

    #[test]
    fn nothing_is_taken_after_a_break() {
        let (found, end) = taken(3);
        assert_eq!((found.len(), end), (4, ControlFlow::Break(3)));
    }
}
