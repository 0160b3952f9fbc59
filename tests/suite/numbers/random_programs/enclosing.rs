//! What is around the code that a thread of a program executes.

use std::cell::{Cell, RefCell};

use super::program::Lane;

/// A call, or a default stream.
#[derive(Clone, Copy)]
pub(super) struct Enclosing {
    /// The number of the call.
    pub(super) span: Option<usize>,
    /// The stream that it lends.
    pub(super) lane: Option<Lane>,
}

thread_local! {
    static THREAD: Cell<usize> = const { Cell::new(0) };
    static ENCLOSING: RefCell<Vec<Enclosing>> = const { RefCell::new(Vec::new()) };
}

/// The number of this thread in the program.
pub(super) fn thread() -> usize {
    THREAD.get()
}

pub(super) fn set_thread(number: usize) {
    THREAD.set(number);
}

/// What `find` returns first, from the innermost outwards.
pub(super) fn find<T>(find: impl FnMut(&Enclosing) -> Option<T>) -> Option<T> {
    ENCLOSING.with_borrow(|stack| stack.iter().rev().find_map(find))
}

/// While it exists, `Enclosing` is around what this thread executes.
pub(super) struct Inside(());

impl Inside {
    pub(super) fn new(enclosing: Enclosing) -> Self {
        ENCLOSING.with_borrow_mut(|stack| stack.push(enclosing));
        Self(())
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        ENCLOSING.with_borrow_mut(Vec::pop);
    }
}
