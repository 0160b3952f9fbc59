//! Executes a program, and writes down its calls and in which order values are dropped.

use std::future::poll_fn;
use std::panic;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use cudarc::driver::CudaStream;
use support::World;
use support::executor::{join, poll};

use super::enclosing::{self, Enclosing, Inside};
use super::program::{Function, Lane, Program, SLOTS, STREAMS, Step};
use super::span_log::{OnStream, SpanLog, StreamId};
use super::turns::Turns;

/// One execution of a program.
pub(super) struct Run {
    w: &'static World,
    program: &'static Program,
    functions: &'static dyn Functions,
    streams: Vec<Arc<CudaStream>>,
    per_thread_stream: Arc<CudaStream>,
    turns: Turns,
    slots: [Mutex<Option<Task>>; SLOTS],
    log: Mutex<SpanLog>,
    notes: AtomicU32,
    dropped: Mutex<Vec<u32>>,
    /// Nothing is done any more but to return from calls.
    is_over: AtomicBool,
    watcher: Box<dyn Watcher>,
}

/// A future that any thread may poll.
pub(super) type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The functions of a program.
pub(super) trait Functions: Sync {
    /// Calls a function, which executes `steps`.
    fn call(&self, run: &'static Run, function: Function, steps: &'static [Step]);
    /// Calls an async function, whose future executes `steps`.
    fn make(&self, run: &'static Run, function: Function, steps: &'static [Step]) -> Task;
}

/// What a test does while a program runs.
pub(super) trait Watcher: Send + Sync {
    /// The program asks for a profile.
    fn snapshot(&self, log: &SpanLog);
    /// The program is at its end: called once, on the thread whose turn it is.
    fn end(&self, log: &SpanLog);
}

/// A value that notes its drop.
pub(super) struct Note(&'static Run, u32);

impl Drop for Note {
    fn drop(&mut self) {
        lock(&self.0.dropped).push(self.1);
    }
}

/// Writes down the end of a call when it is dropped.
pub(super) struct OpenSpan {
    run: &'static Run,
    enclosing: Enclosing,
    inside: Option<Inside>,
}

impl Drop for OpenSpan {
    fn drop(&mut self) {
        drop(self.inside.take());
        let run = self.run;
        let thread = enclosing::thread();
        let end = |stream| match stream {
            StreamId::PerThread(other) if other != thread => None,
            _ => Some(run.next_start(stream)),
        };
        if let Some(span) = self.enclosing.span {
            lock(&run.log).end(span, end);
        }
    }
}

impl Run {
    /// Runs the program to its end. Returns its calls, and the numbers of the dropped [`Note`]s.
    pub(super) fn execute_program(
        w: &'static World,
        program: &'static Program,
        functions: &'static dyn Functions,
        watcher: Box<dyn Watcher>,
    ) -> Vec<u32> {
        let sets = if program.shares_streams {
            1
        } else {
            program.threads.len()
        };
        let run: &'static Self = Box::leak(Box::new(Self {
            w,
            program,
            functions,
            streams: (0..STREAMS * sets)
                .map(|_| w.gpu.another_stream())
                .collect(),
            per_thread_stream: w.gpu.context.per_thread_stream(),
            turns: Turns::new(program.threads.len(), &program.order),
            slots: Default::default(),
            log: Mutex::default(),
            notes: AtomicU32::new(0),
            dropped: Mutex::default(),
            is_over: AtomicBool::new(false),
            watcher,
        }));
        let threads: Vec<_> = (0..program.threads.len())
            .map(|number| thread::spawn(move || run.execute_thread(number)))
            .collect();
        for thread in threads {
            thread
                .join()
                .unwrap_or_else(|panic| panic::resume_unwind(panic));
        }
        enclosing::set_thread(usize::MAX);
        run.end();
        run.slots.iter().for_each(|slot| drop(lock(slot).take()));
        std::mem::take(&mut lock(&run.dropped))
    }

    fn execute_thread(&'static self, number: usize) {
        enclosing::set_thread(number);
        self.w.gpu.context.bind_to_thread().expect("bind");
        self.turns.begin(number);
        self.execute(&self.program.threads[number]);
        self.turns.leave(number);
    }

    /// Begins a call on this thread. It ends when the result is dropped.
    pub(super) fn enter(&'static self, name: &'static str, lanes: &[Lane]) -> OpenSpan {
        let enclosing = self.begin(name, lanes, false);
        OpenSpan {
            run: self,
            enclosing,
            inside: Some(Inside::new(enclosing)),
        }
    }

    /// An async call that executes `steps`. It ends when the future is dropped.
    pub(super) async fn polled(
        &'static self,
        name: &'static str,
        lanes: &[Lane],
        steps: &'static [Step],
    ) {
        let span = OpenSpan {
            run: self,
            enclosing: self.begin(name, lanes, true),
            inside: None,
        };
        let mut steps = self.execute_async(steps);
        poll_fn(|context| {
            let _inside = Inside::new(span.enclosing);
            steps.as_mut().poll(context)
        })
        .await;
        drop(steps);
    }

    fn begin(&self, name: &'static str, lanes: &[Lane], is_async: bool) -> Enclosing {
        let mut log = lock(&self.log);
        let mut streams: Vec<OnStream> = Vec::new();
        for lane in lanes {
            let stream = self.stream_id(*lane);
            if streams.iter().all(|on| on.stream != stream) {
                let thread = enclosing::thread();
                let is_around = |span: &usize| log.spans[*span].is_around(stream, thread);
                streams.push(OnStream {
                    stream,
                    start: self.next_start(stream),
                    end: None,
                    nested_in: enclosing::find(|one| one.span.filter(is_around)),
                });
            }
        }
        let parent = enclosing::find(|one| one.span);
        let span = log.begin(name, parent, streams, is_async);
        Enclosing {
            span: Some(span),
            lane: lanes.first().copied(),
        }
    }

    /// The stream that a call inherits here, if there is one.
    pub(super) fn inherited() -> Vec<Lane> {
        enclosing::find(|one| one.lane).into_iter().collect()
    }

    pub(super) fn stream(&self, lane: Lane) -> Arc<CudaStream> {
        Arc::clone(match self.stream_id(lane) {
            StreamId::Stream(index) => &self.streams[index],
            StreamId::PerThread(_) => &self.per_thread_stream,
        })
    }

    fn stream_id(&self, lane: Lane) -> StreamId {
        match lane {
            Lane::Stream(index) if self.program.shares_streams => StreamId::Stream(index),
            Lane::Stream(index) => StreamId::Stream(enclosing::thread() * STREAMS + index),
            Lane::PerThread => StreamId::PerThread(enclosing::thread()),
        }
    }

    /// When the driver would execute an event record on this stream.
    fn next_start(&self, stream: StreamId) -> u64 {
        let stream = match stream {
            StreamId::Stream(index) => &self.streams[index],
            StreamId::PerThread(_) => &self.per_thread_stream,
        };
        self.w.sim.next_start(stream.cu_stream() as u64)
    }

    pub(super) fn note(&'static self) -> Note {
        Note(self, self.notes.fetch_add(1, SeqCst))
    }

    /// Executes steps on this thread.
    pub(super) fn execute(&'static self, steps: &'static [Step]) {
        for step in steps {
            if self.is_over_at_next_turn() {
                return;
            }
            self.step(step);
        }
    }

    fn execute_async(&'static self, steps: &'static [Step]) -> Task {
        Box::pin(async move {
            for step in steps {
                if self.is_over_at_next_turn() {
                    return;
                }
                match step {
                    Step::Await((function, steps)) => {
                        self.functions.make(self, *function, steps).await;
                    }
                    Step::Join(calls) => {
                        let make = |(function, steps)| self.functions.make(self, function, steps);
                        let calls = calls.iter().map(|(function, steps)| (*function, &**steps));
                        join(calls.map(make).collect()).await;
                    }
                    Step::Pause => support::executor::pause().await,
                    step => self.step(step),
                }
            }
        })
    }

    fn step(&'static self, step: &'static Step) {
        match step {
            Step::Kernel(lane, ns) => self.w.gpu.kernel_on(&self.stream(*lane), *ns),
            Step::Cpu(ns) => self.w.cpu(*ns),
            Step::Synchronize => self.w.gpu.context.synchronize().expect("synchronize"),
            Step::Call((function, steps)) => self.functions.call(self, *function, steps),
            Step::WithStream(lane, steps) => {
                gpuprof::with_stream(self.stream(*lane), || {
                    let _inside = Inside::new(Enclosing {
                        span: None,
                        lane: Some(*lane),
                    });
                    self.execute(steps);
                });
            }
            Step::Pause => {}
            Step::Await(_) | Step::Join(_) => {
                let mut future = self.execute_async(std::slice::from_ref(step));
                while poll(future.as_mut()).is_pending() {}
            }
            Step::Make(slot, (function, steps)) => {
                let future = self.functions.make(self, *function, steps);
                let earlier = lock(&self.slots[*slot]).replace(future);
                drop(earlier);
            }
            Step::Poll(slot) => {
                // While it is polled the slot is empty: another thread may come to it then.
                let polled = lock(&self.slots[*slot]).take();
                if let Some(mut future) = polled
                    && poll(future.as_mut()).is_pending()
                {
                    let meanwhile = lock(&self.slots[*slot]).replace(future);
                    drop(meanwhile);
                }
            }
            Step::Drop(slot) => {
                let dropped = lock(&self.slots[*slot]).take();
                drop(dropped);
            }
            Step::Snapshot => self.watcher.snapshot(&lock(&self.log)),
            // A clock that stands still would not tell what began before a window from what
            // begins in it.
            Step::Reset => {
                self.w.cpu(1);
                gpuprof::reset();
                lock(&self.log).reset();
            }
        }
    }

    /// Waits for the next turn; returns true if the program is over.
    fn is_over_at_next_turn(&self) -> bool {
        let taken = self.turns.next(enclosing::thread());
        if self.program.ends_after.is_some_and(|turns| taken > turns) {
            self.end();
        }
        self.is_over.load(SeqCst)
    }

    fn end(&self) {
        if !self.is_over.swap(true, SeqCst) {
            self.w.gpu.context.synchronize().expect("synchronize");
            let log = lock(&self.log).clone();
            self.watcher.end(&log);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
