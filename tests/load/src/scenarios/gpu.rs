//! Calls with GPU work on the simulated device, and threads with both kinds of calls.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use cudarc::driver::CudaStream;
use gpuprof::profile::UntimedReasons;
use gpuprof::{Profile, Session, gpu_profile};

use super::scheduling;
use crate::memory::ResidentMemory;
use crate::scenario::{Memory, Outcome, Size, check_equal, report, session, with_separators};
use support::{Gpu, assert_consistent};

/// More calls than one thread, and one context, can have pending, even on a slow host.
const OVERLOAD_CALLS: u64 = 30_000;
/// Fewer calls than one thread's queue to the resolver holds.
const BATCH_CALLS: u64 = 2_000;
/// Nearly all of the 16,384 event pairs of a context.
const NEARLY_ALL_PAIRS: u64 = 16_000;

#[gpu_profile]
fn launch(stream: &Arc<CudaStream>, gpu: &Gpu, ns: u64) {
    gpu.kernel_on(stream, ns);
}

#[gpu_profile(cpu)]
fn on_cpu() {}

/// A device whose events take no time, so that it keeps up with any host, and whose queues never
/// block the program: gpuprof's own queues are to fill.
fn device() -> Gpu {
    let sim = simcuda::install().expect("the simulated driver is built");
    sim.set_event_ns(0);
    sim.set_queue_depth(u32::MAX);
    Gpu::new(sim, 0)
}

/// The calls of the warm-up.
struct WarmUp {
    calls: u64,
    timed: u64,
}

/// Makes calls behind a long kernel until nearly all event pairs are pending, then waits for the
/// device. Everything that calls can fill has then been full and has allocated its memory.
///
/// On a busy machine the resolver needs long to create that many events, so each try uses a longer
/// kernel.
fn warm_up(gpu: &Gpu, session: &Session) -> Result<WarmUp, String> {
    const TRIES: u32 = 5;
    for attempt in 0..TRIES {
        let long = Duration::from_secs(1 << attempt);
        let end = Instant::now() + long;
        launch(&gpu.stream, gpu, long.as_nanos() as u64);
        let is_full = loop {
            (0..BATCH_CALLS).for_each(|_| launch(&gpu.stream, gpu, 100));
            if session.snapshot().diagnostics.untimed.unfinished >= NEARLY_ALL_PAIRS {
                break true;
            }
            if Instant::now() > end {
                break false;
            }
            // Lets the resolver run.
            thread::sleep(Duration::from_millis(1));
        };
        gpu.context.synchronize().expect("synchronize");
        let diagnostics = wait_until_timed(session)?.diagnostics;
        if is_full {
            return Ok(WarmUp {
                calls: diagnostics.calls,
                timed: diagnostics.timed_calls,
            });
        }
    }
    Err("the device was never left behind".to_owned())
}

/// An error if fewer than `percent` of `calls` with GPU work were timed: if the device keeps up,
/// counting the untimed calls is not enough.
fn check_timed_share(timed: u64, calls: u64, percent: u64) -> Result<(), String> {
    if timed * 100 >= calls * percent {
        Ok(())
    } else {
        Err(format!(
            "only {} of {} GPU calls timed, {percent} % required",
            with_separators(timed),
            with_separators(calls)
        ))
    }
}

/// Waits until every GPU time has been read; the limit is reached only if one is lost.
pub(super) fn wait_until_timed(session: &Session) -> Result<Profile, String> {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let profile = session.snapshot();
        match profile.diagnostics.untimed.unfinished {
            0 => return Ok(profile),
            lost if Instant::now() > deadline => {
                return Err(format!("{lost} GPU times were never read"));
            }
            _ => thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// Checks that every call with a stream is timed or has a reason. Returns a summary.
fn check_accounting(profile: &Profile, gpu_calls: u64) -> Result<String, String> {
    let diagnostics = &profile.diagnostics;
    check_equal(
        "calls with a stream",
        diagnostics.calls_with_stream,
        gpu_calls,
    )?;
    let known = diagnostics.timed_calls + diagnostics.captured_calls + diagnostics.untimed.sum();
    check_equal("timed and untimed calls", known, gpu_calls)?;
    check_equal(
        "dropped",
        diagnostics.dropped + diagnostics.histogram_dropped,
        0,
    )?;
    let UntimedReasons {
        pool_exhausted,
        queue_full,
        unfinished,
        ..
    } = diagnostics.untimed;
    let mut what = format!(
        "simulated device: {} GPU-timed",
        with_separators(diagnostics.timed_calls)
    );
    for (count, why) in [
        (pool_exhausted, "without a free event"),
        (queue_full, "with a full queue"),
        (unfinished, "unfinished on the GPU"),
    ] {
        if count > 0 {
            what += &format!(", {} {why}", with_separators(count));
        }
    }
    let named = pool_exhausted + queue_full + unfinished;
    check_equal(
        "untimed for other reasons",
        diagnostics.untimed.sum() - named,
        0,
    )?;
    Ok(what)
}

/// One stream, one launch per call.
pub(super) fn spans(size: Size) -> Result<Outcome, String> {
    let gpu = device();
    let session = session();
    let before = warm_up(&gpu, &session)?;
    // At the short size the program waits for the resolver, which a busy machine may delay, so
    // every call is timed. At full size a thread that does nothing else can be slightly faster
    // than the resolver.
    let (burst, bursts, percent) = size.pick((BATCH_CALLS, 25, 100), (100_000, 100, 75));
    let make = |bursts: u64| {
        for _ in 0..bursts {
            (0..burst).for_each(|_| launch(&gpu.stream, &gpu, 100));
            if size == Size::Short {
                gpu.context.synchronize().expect("synchronize");
                wait_until_timed(&session)?;
            }
        }
        Ok::<(), String>(())
    };
    // The first snapshot allocates its memory.
    make(1)?;
    let since = ResidentMemory::now();
    make(bursts)?;
    let calls = burst * (1 + bursts);
    let growth = since.growth();
    gpu.context.synchronize().expect("synchronize");
    wait_until_timed(&session)?;
    let (profile, elapsed) = report(&session)?;
    assert_consistent(&profile);
    let all = before.calls + calls;
    check_equal("calls", profile.diagnostics.calls, all)?;
    let what = check_accounting(&profile, all)?;
    let timed = profile.diagnostics.timed_calls - before.timed;
    check_timed_share(timed, calls, percent)?;
    Ok(Outcome {
        calls: all,
        what: format!("{what}; report in {elapsed:.1?}"),
        memory: Memory::flat(growth),
    })
}

/// As many threads as a large machine has cores, with one stream each.
pub(super) fn threads_at_once(size: Size) -> Result<Outcome, String> {
    const THREADS: u64 = 64;
    let gpu = device();
    let session = session();
    let warm_up = warm_up(&gpu, &session)?;
    // The warm-up runs one thread after another, in bursts that leave no call untimed.
    const BURST: u64 = 20;
    let (before, calls) = size.pick((BURST, 20), (5_000, 40_000));
    let turn = Mutex::new(());
    let (gpu, together) = (&gpu, Barrier::new(THREADS as usize + 1));
    let growth = thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let stream = gpu.another_stream();
                let make = |calls: u64| {
                    for _ in 0..calls {
                        on_cpu();
                        launch(&stream, gpu, 100);
                    }
                };
                {
                    let _turn = turn.lock();
                    for _ in 0..before / BURST {
                        make(BURST);
                        thread::sleep(Duration::from_millis(1));
                    }
                }
                for calls in [0, calls] {
                    make(calls);
                    together.wait();
                    together.wait();
                }
            });
        }
        together.wait();
        // Snapshots while the threads run.
        drop(session.snapshot());
        let since = ResidentMemory::now();
        together.wait();
        together.wait();
        let growth = since.growth();
        together.wait();
        growth
    });
    gpu.context.synchronize().expect("synchronize");
    wait_until_timed(&session)?;
    let (profile, elapsed) = report(&session)?;
    assert_consistent(&profile);
    let each = THREADS * (before + calls);
    let gpu_calls = warm_up.calls + each;
    check_equal("calls", profile.diagnostics.calls, gpu_calls + each)?;
    let what = check_accounting(&profile, gpu_calls)?;
    // All calls share the events of one context and its resolver.
    check_timed_share(profile.diagnostics.timed_calls - warm_up.timed, each, 40)?;
    Ok(Outcome {
        calls: gpu_calls + each,
        what: format!("{what}; report in {elapsed:.1?}"),
        // A ring of 16,384 messages for each thread that is far ahead of the resolver, and what
        // that has taken from them: docs/limits.md.
        memory: Memory {
            allowed: THREADS * (2 << 20) + (16 << 20),
            ..Memory::flat(growth)
        },
    })
}

/// Threads that come and go, every sixteenth with GPU work.
pub(super) fn short_lived_threads(size: Size) -> Result<Outcome, String> {
    const AT_ONCE: u64 = 16;
    let gpu = device();
    let session = session();
    let make = |threads: u64| {
        for _ in 0..threads / AT_ONCE {
            thread::scope(|scope| {
                scope.spawn(|| launch(&gpu.stream, &gpu, 100));
                (1..AT_ONCE).for_each(|_| drop(scope.spawn(on_cpu)));
            });
        }
    };
    let (before, threads) = size.pick((800, 3_200), (500_000, 1_000_000));
    let warm_up = warm_up(&gpu, &session)?;
    make(before);
    drop(session.snapshot());
    let since = ResidentMemory::now();
    make(threads);
    let growth = since.growth();
    gpu.context.synchronize().expect("synchronize");
    wait_until_timed(&session)?;
    let (profile, elapsed) = report(&session)?;
    assert_consistent(&profile);
    let all = before + threads;
    check_equal("calls", profile.diagnostics.calls, warm_up.calls + all)?;
    let outcome: u32 = profile
        .functions
        .iter()
        .map(|function| function.threads)
        .sum();
    // The warm-up thread is one more.
    check_equal("threads", u64::from(outcome), all + 1)?;
    let what = check_accounting(&profile, warm_up.calls + all / AT_ONCE)?;
    // Each thread has its own queue, with one call in it.
    check_timed_share(
        profile.diagnostics.timed_calls - warm_up.timed,
        all / AT_ONCE,
        99,
    )?;
    Ok(Outcome {
        calls: warm_up.calls + all,
        what: format!(
            "{} threads, all counted; {what}; report in {elapsed:.1?}",
            with_separators(all)
        ),
        // Threads and the resolver allocate and free in different arenas of the allocator, which
        // fragment. At full size this is 8 bytes for each thread.
        memory: Memory {
            allowed: size.pick(1 << 20, 8 << 20),
            ..Memory::flat(growth)
        },
    })
}

/// One millisecond of GPU work for every few microseconds of host time.
pub(super) fn overloaded_gpu(size: Size) -> Result<Outcome, String> {
    let gpu = device();
    let session = session();
    let calls = size.pick(30_000, 1_000_000);
    let make = |calls: u64| (0..calls).for_each(|_| launch(&gpu.stream, &gpu, 1_000_000));
    make(OVERLOAD_CALLS);
    drop(session.snapshot());
    let since = ResidentMemory::now();
    make(calls);
    let growth = since.growth();
    let (profile, elapsed) = report(&session)?;
    assert_consistent(&profile);
    let all = OVERLOAD_CALLS + calls;
    check_equal("calls", profile.diagnostics.calls, all)?;
    let what = check_accounting(&profile, all)?;
    if profile.diagnostics.untimed.pool_exhausted == 0
        || profile.diagnostics.untimed.unfinished == 0
    {
        return Err(format!("the GPU was not overloaded: {what}"));
    }
    Ok(Outcome {
        calls: all,
        what: format!("{what}; report in {elapsed:.1?}"),
        memory: Memory::flat(growth),
    })
}

const RESOLVER: &str = "gpuprof-resolver";

/// One processor for all threads, with the lowest priority for the resolver.
pub(super) fn starved_resolver(size: Size) -> Result<Outcome, String> {
    scheduling::share_one()?;
    let gpu = device();
    let session = session();
    let warm_up = warm_up(&gpu, &session)?;
    scheduling::only_when_idle(RESOLVER, true)?;
    let calls = size.pick(50_000, 1_000_000);
    let over = AtomicBool::new(false);
    let growth = thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Relaxed) {
                on_cpu();
            }
        });
        let since = ResidentMemory::now();
        (0..calls).for_each(|_| launch(&gpu.stream, &gpu, 100));
        let growth = since.growth();
        over.store(true, Relaxed);
        growth
    });
    scheduling::only_when_idle(RESOLVER, false)?;
    gpu.context.synchronize().expect("synchronize");
    let profile = wait_until_timed(&session)?;
    assert_consistent(&profile);
    let all = warm_up.calls + calls;
    let what = check_accounting(&profile, all)?;
    if profile.diagnostics.untimed.queue_full == 0 {
        return Err(format!("the resolver was not starved: {what}"));
    }
    Ok(Outcome {
        calls: profile.diagnostics.calls,
        what,
        memory: Memory::flat(growth),
    })
}
