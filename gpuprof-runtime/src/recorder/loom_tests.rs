//! A chunk that is read while it is written, in every order that the memory model allows.

use loom::sync::Arc;
use loom::thread;

use super::chunk::Chunk;
use super::event::Event;
use crate::sync::in_every_order;

fn event(at: u64) -> Event {
    Event::Cpu {
        path: 1,
        started: at,
        ended: 10 * at,
        call: 100 * at,
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
                    assert_eq!(read, event(found));
                });
                assert!(found <= 2);
            }
        });
        assert!(chunk.push(&event(1)) && chunk.push(&event(2)));
        assert!(!chunk.push(&event(3)), "it is full");
        reader.join().unwrap();
    });
}
