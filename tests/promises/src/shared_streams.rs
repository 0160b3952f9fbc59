//! Promise: the time of a stream that several threads or tasks use at once is divided among their
//! calls, so that exclusive times never exceed the time for which the stream was covered.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Waker};
use std::thread;

use cudarc::driver::sys::CUevent_flags;
use cudarc::driver::{CudaEvent, CudaStream, DriverError};
use gpuprof::{Profile, gpu_profile};

use crate::blocked_streams::measured;
use crate::known_spans::{KnownSpans, function, observe};
use crate::observation::{Observation, Observed, time};
use crate::tolerance::Tolerance;
use crate::two_threads::on_two_threads;
use crate::world::{Done, World, failed_in};

const MS: u64 = 1_000_000;
const NAMES: [&str; 2] = ["first", "second"];

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
async fn task(world: &dyn World, stream: &Arc<CudaStream>, ns: u64) -> Done {
    world.spin(stream, ns)?;
    let mut paused = false;
    poll_fn(|_| {
        if std::mem::replace(&mut paused, true) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
    Ok(())
}

fn timed_event(stream: &Arc<CudaStream>) -> Result<CudaEvent, DriverError> {
    stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT))
}

/// What is measured of `queue` on a blocked stream, and the time between events around it, ns.
fn covered(
    world: &dyn World,
    stream: &Arc<CudaStream>,
    mut queue: impl FnMut() -> Done,
) -> Result<(Profile, f64), String> {
    let mut around = None;
    let profile = measured(&[(world, stream)], |_| {
        let start = timed_event(stream)?;
        queue()?;
        around = Some((start, timed_event(stream)?));
        Ok(())
    })?;
    let (start, end) = around.ok_or("nothing was queued")?;
    let ms = start.elapsed_ms(&end).map_err(failed_in("the events"))?;
    Ok((profile, f64::from(ms) * 1e6))
}

/// The spans, and whether their exclusive times add up to no more than the time between two events
/// that enclose all of them on one stream.
fn observe_covered(
    what: &str,
    (profile, covered_ns): &(Profile, f64),
    expected: &[KnownSpans],
    within: Tolerance,
) -> Observation {
    let mut observed = observe(what, profile, expected, within);
    let found = expected
        .iter()
        .filter_map(|one| function(profile, one.name));
    let own = found.filter_map(|one| one.gpu.as_ref());
    let own = own.map(|gpu| gpu.times.self_ns).sum::<u64>() as f64;
    let (sum, covered) = (time(own), time(*covered_ns));
    observed.measured += &format!("; self in sum {sum} of {covered}");
    observed.wanted += "; self in sum at most the time by events";
    observed.is_kept &= own <= covered_ns + within.resolution_ns as f64;
    observed
}

fn both(result: (Done, Done)) -> Done {
    result.0.and(result.1)
}

/// Both calls are open before either launches, and until both have launched.
///
/// # Errors
/// A driver error as text.
pub fn shared_all_the_time(world: &dyn World, within: Tolerance) -> Observed {
    let stream = &world.stream()?;
    let measured = covered(world, stream, || {
        let inside = |meet: &dyn Fn()| {
            meet();
            let launched = world.spin(stream, 10 * MS);
            meet();
            launched
        };
        both(on_two_threads(
            |meet| first(stream, || inside(meet)),
            |meet| second(stream, || inside(meet)),
        ))
    })?;
    let expected = NAMES.map(|name| KnownSpans::new(name, [20 * MS]).divided(1, 10 * MS));
    let what = "calls of two threads on one stream, 10 ms of kernels each";
    Ok(vec![observe_covered(what, &measured, &expected, within)])
}

/// 6 ms of the first call alone, 8 ms of both, 2 ms of the second call alone.
///
/// # Errors
/// A driver error as text.
pub fn shared_in_part(world: &dyn World, within: Tolerance) -> Observed {
    let stream = &world.stream()?;
    let measured = covered(world, stream, || {
        both(on_two_threads(
            |meet| {
                let done = first(stream, || {
                    let alone = world.spin(stream, 6 * MS);
                    meet();
                    meet();
                    alone.and(world.spin(stream, 8 * MS))
                });
                meet();
                done
            },
            |meet| {
                meet();
                second(stream, || {
                    meet();
                    meet();
                    world.spin(stream, 2 * MS)
                })
            },
        ))
    })?;
    let expected = [
        KnownSpans::new("first", [14 * MS]).divided(1, 10 * MS),
        KnownSpans::new("second", [10 * MS]).divided(1, 6 * MS),
    ];
    let what = "the same that overlap for 8 of 16 ms";
    Ok(vec![observe_covered(what, &measured, &expected, within)])
}

/// One after the other: nothing is shared.
///
/// # Errors
/// A driver error as text.
pub fn in_turn(world: &dyn World, within: Tolerance) -> Observed {
    let stream = &world.stream()?;
    let measured = covered(world, stream, || {
        both(on_two_threads(
            |meet| {
                let done = first(stream, || world.spin(stream, 5 * MS));
                meet();
                done
            },
            |meet| {
                meet();
                second(stream, || world.spin(stream, 5 * MS))
            },
        ))
    })?;
    let expected = NAMES.map(|name| KnownSpans::new(name, [5 * MS]));
    let what = "the same one after the other, 5 ms each";
    Ok(vec![observe_covered(what, &measured, &expected, within)])
}

/// Four futures of one thread, polled in turn as by `join!`: spans of 24, 18, 12 and 6 ms.
///
/// # Errors
/// A driver error as text.
pub fn joined_futures(world: &dyn World, within: Tolerance) -> Observed {
    let stream = &world.stream()?;
    let measured = covered(world, stream, || {
        let mut futures: Vec<Pin<Box<_>>> = Vec::new();
        futures.resize_with(4, || Box::pin(task(world, stream, 6 * MS)));
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
    let lengths = [24, 18, 12, 6].map(|ms| ms * MS);
    let expected = KnownSpans::new("a future", lengths).divided(4, 24 * MS);
    let what = "four joined futures on one stream, 6 ms of kernels each";
    Ok(vec![observe_covered(what, &measured, &[expected], within)])
}

/// The same on a stream each: nothing is shared.
///
/// # Errors
/// A driver error as text.
pub fn on_a_stream_each(world: &dyn World, within: Tolerance) -> Observed {
    let (stream, other) = (&world.stream()?, &world.stream()?);
    let profile = measured(&[(world, stream), (world, other)], |_| {
        let launch = |stream, meet: &dyn Fn()| {
            meet();
            let launched = world.spin(stream, 10 * MS);
            meet();
            launched
        };
        both(on_two_threads(
            |meet| first(stream, || launch(stream, meet)),
            |meet| second(other, || launch(other, meet)),
        ))
    })?;
    let expected = NAMES.map(|name| KnownSpans::new(name, [10 * MS]));
    let what = "calls of two threads on a stream each, 10 ms each";
    Ok(vec![observe(what, &profile, &expected, within)])
}

/// One handle that means a stream of its own on each thread. The other thread lives until
/// everything is read.
///
/// # Errors
/// A driver error as text.
pub fn on_the_per_thread_stream(world: &dyn World, within: Tolerance) -> Observed {
    let stream = &world.context().per_thread_stream();
    let profile = thread::scope(|scope| {
        let (ask, asked) = mpsc::channel();
        let (answer, answered) = mpsc::channel();
        scope.spawn(move || {
            for hold in asked {
                let blocked = world.spin(stream, hold);
                let launch = || world.spin(stream, 10 * MS);
                let queued = blocked.and_then(|()| second(stream, launch));
                answer.send(queued).expect("the test waits for it");
            }
        });
        measured(&[(world, stream)], |hold| {
            ask.send(hold).expect("the thread waits for it");
            first(stream, || {
                world.spin(stream, 10 * MS)?;
                answered.recv().expect("the thread answers")
            })
        })
    })?;
    let expected = NAMES.map(|name| KnownSpans::new(name, [10 * MS]));
    let what = "calls of two threads on the per-thread stream, 10 ms each";
    Ok(vec![observe(what, &profile, &expected, within)])
}
