//! CUDA calls that have returned, from the program's threads to the reader: a ring for each thread,
//! so that threads share nothing.

use std::cell::RefCell;

use crossbeam_queue::SegQueue;
use rtrb::{Consumer, Producer, PushError, RingBuffer};

use super::bounded_queue::BoundedQueue;
use super::callback_events::{CallbackEvent, ReturnedCall};
use super::lifecycle;
use crate::os;

/// Calls that a ring has room for: 192 KiB. Calls beyond it go through the shared queue.
const CAPACITY: usize = 4_096;
/// Calls of a thread after which it wakes the reader.
const WAKE_EVERY: usize = CAPACITY / 2;

/// The rings of threads that have made their first call, for the reader.
static NEW_RINGS: SegQueue<ThreadRing> = SegQueue::new();

thread_local! {
    static SENDER: RefCell<Option<Sender>> = const { RefCell::new(None) };
}

/// The reader's end of a ring, and the system's number of its thread.
type ThreadRing = (u32, Consumer<ReturnedCall>);

struct Sender {
    ring: Producer<ReturnedCall>,
    sent: usize,
}

/// Passes a call of this thread to the reader, by `shared` if there is no other way.
pub(super) fn send(call: ReturnedCall, shared: &BoundedQueue<CallbackEvent>) {
    // Fails if the thread is ending.
    let sent = SENDER.try_with(|sender| {
        let mut sender = sender.try_borrow_mut().ok()?;
        sender.get_or_insert_with(Sender::new).send(call)
    });
    if sent.ok().flatten().is_none() {
        shared.push(CallbackEvent::Call(call, os::thread_id()));
    }
}

impl Sender {
    fn new() -> Self {
        let (ring, consumer) = RingBuffer::new(CAPACITY);
        NEW_RINGS.push((os::thread_id(), consumer));
        Self { ring, sent: 0 }
    }

    /// `None` if the ring is full.
    fn send(&mut self, call: ReturnedCall) -> Option<()> {
        self.sent += 1;
        if self.sent.is_multiple_of(WAKE_EVERY) {
            lifecycle::wake_reader();
        }
        match self.ring.push(call) {
            Ok(()) => Some(()),
            Err(PushError::Full(_)) => None,
        }
    }
}

/// The reader's ends of all rings.
#[derive(Default)]
pub(super) struct CudaCallRings {
    rings: Vec<ThreadRing>,
}

/// How many calls each ring had at one moment.
pub(super) struct Waiting(Vec<usize>);

impl CudaCallRings {
    pub(super) fn waiting(&mut self) -> Waiting {
        while let Some(ring) = NEW_RINGS.pop() {
            self.rings.push(ring);
        }
        Waiting(self.rings.iter().map(|(_, ring)| ring.slots()).collect())
    }

    /// Passes the calls that were `waiting`, with the system's numbers of their threads, to `each`.
    pub(super) fn take(
        &mut self,
        Waiting(counts): Waiting,
        mut each: impl FnMut(ReturnedCall, u32),
    ) {
        for ((thread, ring), count) in self.rings.iter_mut().zip(counts) {
            if let Ok(calls) = ring.read_chunk(count) {
                calls.into_iter().for_each(|call| each(call, *thread));
            }
        }
        self.rings
            .retain(|(_, ring)| !(ring.is_abandoned() && ring.is_empty()));
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::{CAPACITY, CudaCallRings, send};
    use crate::cupti::collect::bounded_queue::BoundedQueue;
    use crate::cupti::collect::callback_clock::Stamp;
    use crate::cupti::collect::callback_events::ReturnedCall;
    use crate::cupti::collect::record::ApiFunction;
    use crate::stats::profiled_call::CallPosition;

    fn call(correlation: u32) -> ReturnedCall {
        ReturnedCall {
            function: ApiFunction {
                is_runtime: false,
                cbid: 1,
            },
            start: Stamp::START,
            end: Stamp::START,
            correlation,
            failed: false,
            moves_nothing: false,
            call: CallPosition::default(),
            stack: None,
        }
    }

    #[test]
    fn every_call_of_every_thread_arrives_whether_its_ring_is_full_or_its_thread_over() {
        const THREADS: u32 = 3;
        const CALLS: u32 = CAPACITY as u32 + 10;
        let shared = BoundedQueue::new();
        thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS)
                .map(|thread| {
                    let shared = &shared;
                    scope.spawn(move || {
                        (0..CALLS).for_each(|index| send(call(thread * CALLS + index), shared));
                    })
                })
                .collect();
            // Also waits for the destructors of the threads' variables.
            threads
                .into_iter()
                .for_each(|thread| thread.join().expect("it ends"));
        });
        let (mut rings, mut arrived) = (CudaCallRings::default(), Vec::new());
        let waiting = rings.waiting();
        rings.take(waiting, |call, _| arrived.push(call.correlation));
        assert_eq!((shared.len(), arrived.len()), (3 * 10, 3 * CAPACITY));
        // The calls of a thread stay in order.
        for thread in 0..THREADS {
            let first = thread * CALLS;
            let of_thread = arrived
                .iter()
                .filter(|at| (first..first + CALLS).contains(at));
            assert!(of_thread.copied().eq(first..first + CAPACITY as u32));
        }
        assert!(rings.rings.is_empty(), "the threads have ended");
    }
}
