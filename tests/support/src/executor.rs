//! An executor in which each poll is a line of the test, so that the test knows what happens when.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use crate::World;

/// One poll, by nobody in particular.
pub fn poll<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Polls to the end, with so much time between two polls.
pub fn run<F: Future>(w: &World, future: F, between: u64) -> F::Output {
    let mut future = pin!(future);
    loop {
        match poll(future.as_mut()) {
            Poll::Ready(output) => return output,
            Poll::Pending => w.cpu(between),
        }
    }
}

/// Pending once.
pub fn pause() -> impl Future<Output = ()> {
    let mut paused = false;
    poll_fn(move |_| match std::mem::replace(&mut paused, true) {
        true => Poll::Ready(()),
        false => Poll::Pending,
    })
}
