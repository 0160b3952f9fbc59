//! What the resolver shares with spans and with waiters, in every order that the memory model
//! allows.

use std::collections::VecDeque;
use std::sync::atomic::Ordering::{Acquire, Release};

use loom::sync::atomic::AtomicU64;
use loom::sync::{Arc, Mutex};
use loom::thread;

use crate::gpu::events::handshake::{ContextLease, Progress, SleepFlag};
use crate::sync::in_every_order;

#[test]
fn a_sample_waits_for_no_more_than_one_sleep() {
    in_every_order(|| {
        let flag = Arc::new(SleepFlag::new());
        // The ring, as rtrb publishes what is in it.
        let sent = Arc::new(AtomicU64::new(0));
        let resolver = thread::spawn({
            let (flag, sent) = (Arc::clone(&flag), Arc::clone(&sent));
            move || {
                let mut sleeps = 0;
                while sent.load(Acquire) == 0 {
                    flag.sleep_unless(
                        || sent.load(Acquire) > 0,
                        || {
                            sleeps += 1;
                            thread::park();
                        },
                    );
                }
                assert!(sleeps <= 1, "it slept on over a sample");
            }
        });
        sent.store(1, Release);
        flag.wake_if_asleep(|| resolver.thread().unpark());
        // The longest that it parks is over.
        resolver.thread().unpark();
        resolver.join().unwrap();
    });
}

#[test]
fn whoever_waits_finds_every_sample_that_was_sent_before_booked() {
    in_every_order(|| {
        let progress = Arc::new(Progress::default());
        let ring = Arc::new(Mutex::new(VecDeque::new()));
        let booked = Arc::new(Mutex::new(0));
        let resolver = thread::spawn({
            let (progress, ring, booked) = (progress.clone(), ring.clone(), booked.clone());
            move || {
                for _ in 0..2 {
                    if ring.lock().unwrap().pop_front().is_some() {
                        *booked.lock().unwrap() += 1;
                        progress.resolve(1);
                    }
                }
            }
        });
        let waits = thread::spawn({
            let (progress, booked) = (progress.clone(), booked.clone());
            move || {
                let target = progress.submitted();
                if progress.resolved() >= target {
                    assert!(*booked.lock().unwrap() >= target);
                }
            }
        });
        for sample in 0..2 {
            ring.lock().unwrap().push_back(sample);
            progress.submit();
        }
        waits.join().unwrap();
        resolver.join().unwrap();
        assert_eq!(progress.submitted(), 2);
        assert_eq!(progress.resolved(), *booked.lock().unwrap());
    });
}

/// The thread's way is `record::start`'s, the resolver's that of `Source::tell`. What is held is a
/// number here: how many times it was handed over and not let go.
#[test]
fn no_sample_comes_to_the_resolver_without_what_it_needs() {
    in_every_order(|| {
        let lease = Arc::new(ContextLease::new());
        let ring = Arc::new(Mutex::new(VecDeque::new()));
        let resolver = thread::spawn({
            let (lease, ring) = (lease.clone(), ring.clone());
            move || {
                let (mut held, mut received) = (0, 0);
                for _ in 0..2 {
                    while let Some(message) = ring.lock().unwrap().pop_front() {
                        match message {
                            Sent::Hold => held += 1,
                            Sent::Sample => {
                                received += 1;
                                assert_eq!(held, 1, "a sample needs it, once");
                            }
                        }
                    }
                    if held > 0 && lease.try_release(received) {
                        held -= 1;
                    }
                }
                (held, received)
            }
        });
        for span in 1..=2 {
            if lease.claim(span) {
                ring.lock().unwrap().push_back(Sent::Hold);
            }
            ring.lock().unwrap().push_back(Sent::Sample);
        }
        let (mut held, mut received) = resolver.join().unwrap();
        for message in ring.lock().unwrap().drain(..) {
            match message {
                Sent::Hold => held += 1,
                Sent::Sample => {
                    received += 1;
                    assert_eq!(held, 1);
                }
            }
        }
        // It can let go of what it has, once it has everything.
        assert_eq!(lease.try_release(received), held == 1);
        assert_eq!(received, 2);
    });
}

#[derive(Clone, Copy)]
enum Sent {
    Hold,
    Sample,
}
