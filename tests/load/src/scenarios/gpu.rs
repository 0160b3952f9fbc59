//! Calls with GPU work on the simulated device, and threads with both kinds.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use cudarc::driver::CudaStream;
use gpuprof::profile::UntimedReasons;
use gpuprof::{Profile, Session, gpu_profile};

use super::scheduling;
use crate::memory::Since;
use crate::scenario::{Form, Memory, Seen, grouped, report, same, session};
use support::{Gpu, assert_consistent};

/// More than one thread can have under way, and one context, while a slow host makes them.
const MORE_THAN_FIT: u64 = 30_000;
/// Less than one thread's queue to the resolver holds.
const FITS: u64 = 2_000;
/// A context has 16,384 pairs of events.
const NEARLY_ALL_PAIRS: u64 = 16_000;

#[gpu_profile]
fn launch(stream: &Arc<CudaStream>, gpu: &Gpu, ns: u64) {
    gpu.kernel_on(stream, ns);
}

#[gpu_profile(cpu)]
fn on_cpu() {}

/// A device whose events take no time of their own, so that it keeps up with any host, and whose
/// queues never hold the program up: it is gpuprof's own queues that are to fill.
fn device() -> Gpu {
    let sim = simcuda::install().expect("the simulated driver is built");
    sim.set_event_ns(0);
    sim.set_queue_depth(u32::MAX);
    Gpu::new(sim, 0)
}

/// What the warm-up came to.
struct WarmUp {
    calls: u64,
    timed: u64,
}

/// Makes calls behind a long kernel until nearly all pairs of events wait for it, and lets the
/// device catch up: whatever a call can fill has then been full, and has all its memory.
///
/// On a busy machine the resolver takes long to make that many events, so the kernel gets longer.
fn warm_up(gpu: &Gpu, session: &Session) -> Result<WarmUp, String> {
    const TRIES: u32 = 5;
    for attempt in 0..TRIES {
        let long = Duration::from_secs(1 << attempt);
        let end = Instant::now() + long;
        launch(&gpu.stream, gpu, long.as_nanos() as u64);
        let is_full = loop {
            (0..FITS).for_each(|_| launch(&gpu.stream, gpu, 100));
            if session.snapshot().diagnostics.untimed.unfinished >= NEARLY_ALL_PAIRS {
                break true;
            }
            if Instant::now() > end {
                break false;
            }
            // The resolver's turn.
            thread::sleep(Duration::from_millis(1));
        };
        gpu.context.synchronize().expect("synchronize");
        let diagnostics = settle(session)?.diagnostics;
        if is_full {
            return Ok(WarmUp {
                calls: diagnostics.calls,
                timed: diagnostics.timed_calls,
            });
        }
    }
    Err("the device was never left behind".to_owned())
}

/// `Err` where of `calls` with GPU work fewer than `percent` in a hundred were timed: that the rest
/// is counted is not enough where the device keeps up.
fn enough(timed: u64, calls: u64, percent: u64) -> Result<(), String> {
    match timed * 100 >= calls * percent {
        true => Ok(()),
        false => Err(format!(
            "only {} of {} GPU calls timed, {percent} % wanted",
            grouped(timed),
            grouped(calls)
        )),
    }
}

/// Waits until every GPU time is read; only one that is lost takes this long.
fn settle(session: &Session) -> Result<Profile, String> {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let profile = session.snapshot();
        match profile.diagnostics.untimed.unfinished {
            0 => return Ok(profile),
            lost if Instant::now() > deadline => {
                return Err(format!("{lost} GPU times never came"));
            }
            _ => thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// Every call with a stream is timed or has its reason; what of it, in words.
fn accounted(profile: &Profile, gpu_calls: u64) -> Result<String, String> {
    let diagnostics = &profile.diagnostics;
    same(
        "calls with a stream",
        diagnostics.calls_with_stream,
        gpu_calls,
    )?;
    let known = diagnostics.timed_calls + diagnostics.captured_calls + diagnostics.untimed.sum();
    same("timed and untimed calls", known, gpu_calls)?;
    same(
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
        grouped(diagnostics.timed_calls)
    );
    for (count, why) in [
        (pool_exhausted, "for want of events"),
        (queue_full, "for want of room in the queue"),
        (unfinished, "unfinished on the GPU"),
    ] {
        if count > 0 {
            what += &format!(", {} {why}", grouped(count));
        }
    }
    let named = pool_exhausted + queue_full + unfinished;
    same(
        "untimed for other reasons",
        diagnostics.untimed.sum() - named,
        0,
    )?;
    Ok(what)
}

/// One stream, one launch a call.
pub(super) fn spans(form: Form) -> Result<Seen, String> {
    let gpu = device();
    let session = session();
    let before = warm_up(&gpu, &session)?;
    // In the short form the program waits for the resolver, which a busy machine may hold up: every
    // call is timed then. In the full form one thread that does nothing else can be a little faster
    // than the resolver.
    let (burst, bursts, percent) = form.pick((FITS, 25, 100), (100_000, 100, 75));
    let make = |bursts: u64| {
        for _ in 0..bursts {
            (0..burst).for_each(|_| launch(&gpu.stream, &gpu, 100));
            if form == Form::Short {
                gpu.context.synchronize().expect("synchronize");
                settle(&session)?;
            }
        }
        Ok::<(), String>(())
    };
    // What a snapshot takes is taken once.
    make(1)?;
    let since = Since::now();
    make(bursts)?;
    let calls = burst * (1 + bursts);
    let growth = since.growth();
    gpu.context.synchronize().expect("synchronize");
    settle(&session)?;
    let (profile, took) = report(&session)?;
    assert_consistent(&profile);
    let all = before.calls + calls;
    same("calls", profile.diagnostics.calls, all)?;
    let what = accounted(&profile, all)?;
    let timed = profile.diagnostics.timed_calls - before.timed;
    enough(timed, calls, percent)?;
    Ok(Seen {
        calls: all,
        what: format!("{what}; report in {took:.1?}"),
        memory: Memory::flat(growth),
    })
}

/// As many threads as a large machine has cores, with a stream each.
pub(super) fn threads_at_once(form: Form) -> Result<Seen, String> {
    const THREADS: u64 = 64;
    let gpu = device();
    let session = session();
    let warm_up = warm_up(&gpu, &session)?;
    // Each thread's queue takes its memory when it first comes round, at 4,096 timed calls: one
    // thread after another, and in bursts that leave nothing untimed.
    const BURST: u64 = 20;
    let (before, calls) = form.pick((BURST, 20), (5_000, 40_000));
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
        // Also while it runs.
        drop(session.snapshot());
        let since = Since::now();
        together.wait();
        together.wait();
        let growth = since.growth();
        together.wait();
        growth
    });
    gpu.context.synchronize().expect("synchronize");
    settle(&session)?;
    let (profile, took) = report(&session)?;
    assert_consistent(&profile);
    let each = THREADS * (before + calls);
    let gpu_calls = warm_up.calls + each;
    same("calls", profile.diagnostics.calls, gpu_calls + each)?;
    let what = accounted(&profile, gpu_calls)?;
    // All their calls share the events of one context, and its one resolver.
    enough(profile.diagnostics.timed_calls - warm_up.timed, each, 40)?;
    Ok(Seen {
        calls: gpu_calls + each,
        what: format!("{what}; report in {took:.1?}"),
        // Calls that wait for their GPU times lie in a store that the warm-up has filled. Where
        // each of them lies the resolver knows thread by thread: 4 bytes for each of 16,384 pairs
        // of events, should they all be one thread's.
        memory: Memory {
            allowed: THREADS * (64 << 10),
            ..Memory::flat(growth)
        },
    })
}

/// Threads that come and go, every sixteenth with GPU work.
pub(super) fn short_lived_threads(form: Form) -> Result<Seen, String> {
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
    let (before, threads) = form.pick((800, 3_200), (500_000, 1_000_000));
    let warm_up = warm_up(&gpu, &session)?;
    make(before);
    drop(session.snapshot());
    let since = Since::now();
    make(threads);
    let growth = since.growth();
    gpu.context.synchronize().expect("synchronize");
    settle(&session)?;
    let (profile, took) = report(&session)?;
    assert_consistent(&profile);
    let all = before + threads;
    same("calls", profile.diagnostics.calls, warm_up.calls + all)?;
    let seen: u32 = profile
        .functions
        .iter()
        .map(|function| function.threads)
        .sum();
    // The warm-up was one more.
    same("threads", u64::from(seen), all + 1)?;
    let what = accounted(&profile, warm_up.calls + all / AT_ONCE)?;
    // Each has a queue of its own, with one call in it.
    enough(
        profile.diagnostics.timed_calls - warm_up.timed,
        all / AT_ONCE,
        99,
    )?;
    Ok(Seen {
        calls: warm_up.calls + all,
        what: format!(
            "{} threads, all counted; {what}; report in {took:.1?}",
            grouped(all)
        ),
        memory: Memory::flat(growth),
    })
}

/// A millisecond of GPU work for every few microseconds of host time.
pub(super) fn behind(form: Form) -> Result<Seen, String> {
    let gpu = device();
    let session = session();
    let calls = form.pick(30_000, 1_000_000);
    let make = |calls: u64| (0..calls).for_each(|_| launch(&gpu.stream, &gpu, 1_000_000));
    make(MORE_THAN_FIT);
    drop(session.snapshot());
    let since = Since::now();
    make(calls);
    let growth = since.growth();
    let (profile, took) = report(&session)?;
    assert_consistent(&profile);
    let all = MORE_THAN_FIT + calls;
    same("calls", profile.diagnostics.calls, all)?;
    let what = accounted(&profile, all)?;
    if profile.diagnostics.untimed.pool_exhausted == 0
        || profile.diagnostics.untimed.unfinished == 0
    {
        return Err(format!("the GPU kept up: {what}"));
    }
    Ok(Seen {
        calls: all,
        what: format!("{what}; report in {took:.1?}"),
        memory: Memory::flat(growth),
    })
}

const RESOLVER: &str = "gpuprof-resolver";

/// One processor for everybody, and the resolver last in line for it.
pub(super) fn starved(form: Form) -> Result<Seen, String> {
    scheduling::share_one()?;
    let gpu = device();
    let session = session();
    let warm_up = warm_up(&gpu, &session)?;
    scheduling::only_when_idle(RESOLVER, true)?;
    let calls = form.pick(50_000, 1_000_000);
    let over = AtomicBool::new(false);
    let growth = thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Relaxed) {
                on_cpu();
            }
        });
        let since = Since::now();
        (0..calls).for_each(|_| launch(&gpu.stream, &gpu, 100));
        let growth = since.growth();
        over.store(true, Relaxed);
        growth
    });
    scheduling::only_when_idle(RESOLVER, false)?;
    gpu.context.synchronize().expect("synchronize");
    let profile = settle(&session)?;
    assert_consistent(&profile);
    let all = warm_up.calls + calls;
    let what = accounted(&profile, all)?;
    if profile.diagnostics.untimed.queue_full == 0 {
        return Err(format!("the resolver kept up: {what}"));
    }
    Ok(Seen {
        calls: profile.diagnostics.calls,
        what,
        memory: Memory::flat(growth),
    })
}
