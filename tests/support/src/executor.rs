//! An executor whose polls are made by the test.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use crate::World;

/// Polls once, with a waker that does nothing.
pub fn poll<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Polls until the output is ready, with `pause_ns` of CPU time between two polls.
pub fn run<F: Future>(w: &World, future: F, pause_ns: u64) -> F::Output {
    let mut future = pin!(future);
    loop {
        match poll(future.as_mut()) {
            Poll::Ready(output) => return output,
            Poll::Pending => w.cpu(pause_ns),
        }
    }
}

/// A future that is pending once.
pub fn pause() -> impl Future<Output = ()> {
    let mut paused = false;
    poll_fn(move |_| {
        if std::mem::replace(&mut paused, true) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
}

/// Polls all in turn until they are ready, as `join!` does.
pub async fn join<F: Future<Output = ()>>(futures: Vec<F>) {
    let mut futures: Vec<_> = futures.into_iter().map(|one| Some(Box::pin(one))).collect();
    poll_fn(move |context| {
        for slot in &mut futures {
            if slot
                .as_mut()
                .is_some_and(|one| one.as_mut().poll(context).is_ready())
            {
                *slot = None;
            }
        }
        if futures.iter().all(Option::is_none) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
}
