//! Promise: the time of a stream that several threads or tasks use at once is divided among their
//! calls, so that exclusive times never exceed the time that the stream was covered.
//!
//! `busy_server` checks the sums in a program of several threads.

mod busy_server;

use std::pin::Pin;
use std::sync::{Arc, Barrier, mpsc};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use std::{future, thread};

use cudarc::driver::sys::CUevent_flags;
use cudarc::driver::{CudaEvent, CudaStream, DriverError};
use gpuprof::profile::Function;
use gpuprof::{Profile, gpu_profile};

use crate::check::{Check, Row, RunMode};
use crate::device::{Gpu, failed_in};
use crate::known_durations::{as_spun, errors, function, measured};
use crate::statistics::time;

pub(crate) const CHECKS: &[Check] = &[Check {
    name: "shared-streams",
    promise: "Calls that overlap on one stream divide its time, and on different streams do not.",
    limit: Duration::from_secs(120),
    run,
}];

const MS: u64 = 1_000_000;
/// Resolution of events (cuEventElapsedTime), ns.
const RESOLUTION_NS: f64 = 500.0;

type Done = Result<(), DriverError>;

#[gpu_profile(name = "first")]
fn first(stream: &Arc<CudaStream>, inside: impl FnOnce() -> Done) -> Done {
    let _ = stream;
    inside()
}

#[gpu_profile(name = "second")]
fn second(stream: &Arc<CudaStream>, inside: impl FnOnce() -> Done) -> Done {
    let _ = stream;
    inside()
}

/// Launches at its first poll and is ready at the second.
#[gpu_profile(name = "a future")]
async fn task(gpu: &Gpu, stream: &Arc<CudaStream>, ns: u64) -> Done {
    gpu.spin(stream, ns)?;
    let mut paused = false;
    future::poll_fn(|_| {
        if std::mem::replace(&mut paused, true) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
    Ok(())
}

fn run(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let failed = failed_in("the device");
    let gpu = Gpu::new().map_err(&failed)?;
    let stream = gpu.context.new_stream().map_err(&failed)?;
    let mut rows = vec![
        all_the_time(&gpu, &stream)?,
        part_of_the_time(&gpu, &stream)?,
        in_turn(&gpu, &stream)?,
        joined_futures(&gpu, &stream)?,
        two_streams(&gpu, &stream)?,
        per_thread_streams(&gpu)?,
    ];
    rows.extend(busy_server::run(run_mode, &gpu)?);
    Ok(rows)
}

/// The expected times of one function, ns.
struct Wanted {
    name: &'static str,
    calls: u64,
    total: u64,
    own: u64,
    /// Calls that shared time.
    divided: u64,
}

impl Wanted {
    fn single(name: &'static str, total: u64, own: u64) -> Wanted {
        Wanted {
            name,
            calls: 1,
            total,
            own,
            divided: u64::from(total != own),
        }
    }

    fn text(&self) -> String {
        let (total, own) = (time(self.total as f64), time(self.own as f64));
        format!(
            "{}: {total}, self {own}, {} divided",
            self.name, self.divided
        )
    }

    fn is_met_by(&self, function: &Function) -> bool {
        function.gpu.as_ref().is_some_and(|gpu| {
            gpu.timed_calls == self.calls
                && as_spun(gpu.times.total_ns, self.total)
                && as_spun(gpu.times.self_ns, self.own)
                && function.gpu_divided_calls == self.divided
                && !function.gpu_overlaps
        })
    }
}

fn text(function: &Function) -> String {
    let times = function.gpu.as_ref().map(|gpu| &gpu.times);
    let [total, own] = times.map_or([0, 0], |times| [times.total_ns, times.self_ns]);
    format!(
        "{}: {}, self {}, {} divided",
        function.name,
        time(total as f64),
        time(own as f64),
        function.gpu_divided_calls
    )
}

/// A row about these functions and, if `covered_ns` has it, the time between two events that
/// enclose all their spans on one stream.
fn row(what: &str, profile: &Profile, wanted: &[Wanted], covered_ns: Option<f64>) -> Row {
    let found: Vec<_> = wanted
        .iter()
        .filter_map(|one| function(profile, one.name))
        .collect();
    let mut good = found.len() == wanted.len() && profile.diagnostics.errors.is_empty();
    let pairs = wanted.iter().zip(&found);
    good &= pairs.clone().all(|(wanted, found)| wanted.is_met_by(found));
    let mut measured: Vec<_> = found.iter().map(|found| text(found)).collect();
    let mut expected: Vec<_> = wanted.iter().map(Wanted::text).collect();
    if let Some(covered_ns) = covered_ns {
        let own: u64 = found
            .iter()
            .filter_map(|one| one.gpu.as_ref())
            .map(|gpu| gpu.times.self_ns)
            .sum();
        measured.push(format!(
            "self in sum {} of {}",
            time(own as f64),
            time(covered_ns)
        ));
        expected.push("self in sum at most the time by events".into());
        good &= own as f64 <= covered_ns + RESOLUTION_NS;
    }
    measured.push(errors(profile));
    expected.push("within 2 % + 20 µs, no error".into());
    Row::judged(what, measured.join("; "), expected.join("; "), good)
}

fn timed_event(stream: &Arc<CudaStream>) -> Result<CudaEvent, DriverError> {
    stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT))
}

/// What is measured of `queue` on a blocked stream, and the time between events around it, ns.
fn covered(
    gpu: &Gpu,
    stream: &Arc<CudaStream>,
    mut queue: impl FnMut() -> Done,
) -> Result<(Profile, Option<f64>), String> {
    let mut around = None;
    let profile = measured(&[(gpu, stream)], |_| {
        let start = timed_event(stream)?;
        queue()?;
        around = Some((start, timed_event(stream)?));
        Ok(())
    })?;
    let ms = around.map(|(start, end)| start.elapsed_ms(&end));
    let ms = ms.transpose().map_err(failed_in("the events"))?;
    Ok((profile, ms.map(|ms| f64::from(ms) * 1e6)))
}

/// Runs both on threads of their own.
fn on_two_threads(one: impl FnOnce() -> Done + Send, other: impl FnOnce() -> Done + Send) -> Done {
    thread::scope(|scope| {
        let threads = (scope.spawn(one), scope.spawn(other));
        threads.0.join().expect("it does not panic")?;
        threads.1.join().expect("it does not panic")
    })
}

/// Both calls are open before either launches, and until both have launched.
fn all_the_time(gpu: &Gpu, stream: &Arc<CudaStream>) -> Result<Row, String> {
    let (profile, covered_ns) = covered(gpu, stream, || {
        let barrier = Barrier::new(2);
        let inside = || {
            barrier.wait();
            let launched = gpu.spin(stream, 10 * MS);
            barrier.wait();
            launched
        };
        on_two_threads(|| first(stream, inside), || second(stream, inside))
    })?;
    let wanted = ["first", "second"].map(|name| Wanted::single(name, 20 * MS, 10 * MS));
    let what = "calls of two threads on one stream, 10 ms of kernels each";
    Ok(row(what, &profile, &wanted, covered_ns))
}

/// 6 ms of the first call alone, 8 ms of both, 2 ms of the second call alone.
fn part_of_the_time(gpu: &Gpu, stream: &Arc<CudaStream>) -> Result<Row, String> {
    let (profile, covered_ns) = covered(gpu, stream, || {
        let barrier = Barrier::new(2);
        let meet = || {
            barrier.wait();
        };
        let one = || {
            let done = first(stream, || {
                let alone = gpu.spin(stream, 6 * MS);
                meet();
                meet();
                alone.and(gpu.spin(stream, 8 * MS))
            });
            meet();
            done
        };
        let other = || {
            meet();
            second(stream, || {
                meet();
                meet();
                gpu.spin(stream, 2 * MS)
            })
        };
        on_two_threads(one, other)
    })?;
    let wanted = [
        Wanted::single("first", 14 * MS, 10 * MS),
        Wanted::single("second", 10 * MS, 6 * MS),
    ];
    let what = "the same that overlap for 8 of 16 ms";
    Ok(row(what, &profile, &wanted, covered_ns))
}

/// One after the other: nothing is shared.
fn in_turn(gpu: &Gpu, stream: &Arc<CudaStream>) -> Result<Row, String> {
    let (profile, covered_ns) = covered(gpu, stream, || {
        let barrier = Barrier::new(2);
        let one = || {
            let done = first(stream, || gpu.spin(stream, 5 * MS));
            barrier.wait();
            done
        };
        let other = || {
            barrier.wait();
            second(stream, || gpu.spin(stream, 5 * MS))
        };
        on_two_threads(one, other)
    })?;
    let wanted = ["first", "second"].map(|name| Wanted::single(name, 5 * MS, 5 * MS));
    let what = "the same one after the other, 5 ms each";
    Ok(row(what, &profile, &wanted, covered_ns))
}

/// Four futures of one thread, polled in turn as by `join!`: spans of 16, 12, 8 and 4 ms.
fn joined_futures(gpu: &Gpu, stream: &Arc<CudaStream>) -> Result<Row, String> {
    let (profile, covered_ns) = covered(gpu, stream, || {
        let mut futures: Vec<Pin<Box<_>>> = Vec::new();
        futures.resize_with(4, || Box::pin(task(gpu, stream, 4 * MS)));
        while !futures.is_empty() {
            let mut done = Ok(());
            futures.retain_mut(|future| {
                let mut context = Context::from_waker(Waker::noop());
                match future.as_mut().poll(&mut context) {
                    Poll::Pending => true,
                    Poll::Ready(launched) => {
                        done = done.and(launched);
                        false
                    }
                }
            });
            done?;
        }
        Ok(())
    })?;
    let wanted = Wanted {
        name: "a future",
        calls: 4,
        total: 40 * MS,
        own: 16 * MS,
        divided: 4,
    };
    let what = "four joined futures on one stream, 4 ms of kernels each";
    Ok(row(what, &profile, &[wanted], covered_ns))
}

/// The same on a stream each: nothing is shared.
fn two_streams(gpu: &Gpu, stream: &Arc<CudaStream>) -> Result<Row, String> {
    let other = &gpu.context.new_stream().map_err(failed_in("a stream"))?;
    let profile = measured(&[(gpu, stream), (gpu, other)], |_| {
        let barrier = Barrier::new(2);
        let launch = |stream| {
            barrier.wait();
            let launched = gpu.spin(stream, 10 * MS);
            barrier.wait();
            launched
        };
        on_two_threads(
            || first(stream, || launch(stream)),
            || second(other, || launch(other)),
        )
    })?;
    let wanted = ["first", "second"].map(|name| Wanted::single(name, 10 * MS, 10 * MS));
    let what = "calls of two threads on a stream each, 10 ms each";
    Ok(row(what, &profile, &wanted, None))
}

/// One handle that means a stream of its own on each thread. The other thread lives until
/// everything is read.
fn per_thread_streams(gpu: &Gpu) -> Result<Row, String> {
    let stream = &gpu.context.per_thread_stream();
    let profile = thread::scope(|scope| {
        let (ask, asked) = mpsc::channel();
        let (answer, answered) = mpsc::channel();
        scope.spawn(move || {
            for hold in asked {
                let queued = gpu
                    .spin(stream, hold)
                    .and_then(|()| second(stream, || gpu.spin(stream, 10 * MS)));
                answer.send(queued).expect("the check waits for it");
            }
        });
        measured(&[(gpu, stream)], |hold| {
            ask.send(hold).expect("the thread waits for it");
            first(stream, || {
                gpu.spin(stream, 10 * MS)?;
                answered.recv().expect("the thread answers")
            })
        })
    })?;
    let wanted = ["first", "second"].map(|name| Wanted::single(name, 10 * MS, 10 * MS));
    let what = "calls of two threads on the per-thread stream, 10 ms each";
    Ok(row(what, &profile, &wanted, None))
}
