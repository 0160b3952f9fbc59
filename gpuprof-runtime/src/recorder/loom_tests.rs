//! A chunk that is read while it is written, in every order that the memory model allows.

use loom::sync::Arc;
use loom::thread;

use super::chunk::Chunk;
use super::event::CallEvent;
use crate::sync::in_every_order;

/// Of two words if `call` is 0, else of four.
fn event(at: u64, call: u64) -> CallEvent {
    CallEvent::Cpu {
        path: 1,
        started: at,
        ended: 10 * at,
        call,
    }
}

#[test]
fn a_reader_of_a_chunk_finds_whole_events_in_order() {
    in_every_order(|| {
        let chunk = Arc::new(Chunk::new(1, 4));
        let reader = thread::spawn({
            let chunk = Arc::clone(&chunk);
            move || {
                let mut found = 0;
                chunk.read(|_, read, _| {
                    found += 1;
                    assert_eq!(read, event(found, 100 * found));
                });
                assert!(found <= 2);
            }
        });
        assert!(chunk.push(&event(1, 100)) && chunk.push(&event(2, 200)));
        assert!(!chunk.push(&event(3, 300)), "it is full");
        reader.join().unwrap();
    });
}

/// As when a thread has ended and another one goes on in its chunk.
#[test]
fn a_reader_finds_the_thread_of_each_call() {
    in_every_order(|| {
        let chunk = Arc::new(Chunk::new(1, 4));
        let reader = thread::spawn({
            let chunk = Arc::clone(&chunk);
            move || {
                let mut found = 0;
                chunk.read(|thread, read, _| {
                    found += 1;
                    assert_eq!((thread, read), (Some(found as u32 + 6), event(found, 0)));
                });
                assert!(found <= 2);
            }
        });
        assert!(chunk.begin_thread(7) && chunk.push(&event(1, 0)));
        assert!(chunk.begin_thread(8) && chunk.push(&event(2, 0)));
        reader.join().unwrap();
    });
}
