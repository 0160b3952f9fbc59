//! A thread that takes what others send it each millisecond and reads the times of event pairs:
//! what gpuprof's resolver does, without the rest.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use cudarc::driver::CudaContext;

use crate::hand_timed::Pair;

/// Messages that a ring has room for, as gpuprof's have at such a rate.
const ROOM: usize = 1_024;
const PAUSE: Duration = Duration::from_millis(1);

/// As large as one of gpuprof's: 104 bytes.
struct Message {
    pair: Pair,
    reads: u64,
    _rest: [u64; 10],
}

/// One thread's way to the reader.
pub(super) struct Outbox(rtrb::Producer<Message>);

impl Outbox {
    /// Sends a pair, whose time is to be read so often. Dropped if the ring is full.
    pub(super) fn send(&mut self, pair: Pair, reads: u64) {
        let _ = self.0.push(Message {
            pair,
            reads,
            _rest: [reads; 10],
        });
    }
}

type Rings = Arc<Mutex<Vec<rtrb::Consumer<Message>>>>;

/// The thread, which ends with this.
pub(super) struct Reader {
    rings: Rings,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Reader {
    pub(super) fn start(context: &Arc<CudaContext>) -> Reader {
        let (rings, is_over) = (Rings::default(), Arc::new(AtomicBool::new(false)));
        let (its, until) = (Arc::clone(&rings), Arc::clone(&is_over));
        let context = Arc::clone(context);
        let thread = thread::spawn(move || {
            if context.bind_to_thread().is_ok() {
                while !until.load(Relaxed) {
                    take_all(&its);
                    thread::sleep(PAUSE);
                }
            }
        });
        Reader {
            rings,
            is_over,
            thread: Some(thread),
        }
    }

    pub(super) fn outbox(&self) -> Outbox {
        let (producer, consumer) = rtrb::RingBuffer::new(ROOM);
        let mut rings = self.rings.lock().unwrap_or_else(PoisonError::into_inner);
        rings.push(consumer);
        Outbox(producer)
    }
}

fn take_all(rings: &Rings) {
    let mut rings = rings.lock().unwrap_or_else(PoisonError::into_inner);
    for ring in rings.iter_mut() {
        while let Ok(message) = ring.pop() {
            (0..message.reads).for_each(|_| message.pair.look());
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.is_over.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
