//! Large call trees: many functions, deep trees, recursion.

use std::sync::Barrier;
use std::thread;

use gpuprof::gpu_profile;
use load::{Function, all};

use crate::memory::ResidentMemory;
use crate::scenario::{Memory, Outcome, Size, check_equal, report, session, with_separators};
use support::assert_consistent;

/// The documented memory limit for the counters of all threads.
const CEILING: u64 = 1 << 30;

/// The documented number of call paths per process, minus two for code outside every span and for
/// gpuprof's overhead measurement.
const PATHS: u64 = 65_536 - 2;

/// Every function on each of 64 concurrent threads.
pub(super) fn functions(_: Size) -> Result<Outcome, String> {
    const THREADS: usize = 64;
    const TIMES: u64 = 2;
    let session = session();
    let since = ResidentMemory::now();
    let together = Barrier::new(THREADS);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..TIMES {
                    all().for_each(|function| function(&mut || {}));
                    together.wait();
                }
            });
        }
    });
    let growth = since.growth();
    let (profile, elapsed) = report(&session)?;
    let functions = all().count();
    let calls = (functions * THREADS) as u64 * TIMES;
    check_equal("calls", profile.diagnostics.calls, calls)?;
    check_equal("dropped", profile.diagnostics.dropped, 0)?;
    let everywhere = |f: &&gpuprof::profile::Function| f.threads == THREADS as u32;
    let counted = profile.functions.iter().filter(everywhere).count();
    check_equal("functions on all threads", counted, functions)?;
    Ok(Outcome {
        calls,
        what: format!(
            "{} functions × {THREADS} threads, every call counted; report in {elapsed:.1?}",
            with_separators(functions as u64),
        ),
        memory: Memory {
            growth,
            allowed: CEILING,
            since: "in all",
        },
    })
}

/// Functions with many callers, on so many threads that not all counters fit.
pub(super) fn ceiling(_: Size) -> Result<Outcome, String> {
    const THREADS: usize = 40;
    let session = session();
    let since = ResidentMemory::now();
    let together = Barrier::new(THREADS);
    let every: Vec<Function> = all().collect();
    // About as many paths as allowed: one per caller and one per callee of each caller.
    let callers = PATHS as usize / (every.len() + 1);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for caller in every.iter().take(callers) {
                    caller(&mut || every.iter().for_each(|function| function(&mut || {})));
                }
                together.wait();
            });
        }
    });
    let growth = since.growth();
    let (profile, elapsed) = report(&session)?;
    let made = (THREADS * callers * (every.len() + 1)) as u64;
    let dropped = profile.diagnostics.dropped;
    check_equal(
        "calls and dropped calls",
        profile.diagnostics.calls + dropped,
        made,
    )?;
    if dropped == 0 {
        return Err("nothing was dropped: the ceiling was not reached".to_owned());
    }
    Ok(Outcome {
        calls: made,
        what: format!(
            "{} dropped, each counted; report in {elapsed:.1?}",
            with_separators(dropped)
        ),
        memory: Memory {
            growth,
            allowed: CEILING,
            since: "in all",
        },
    })
}

/// A chain of 1,000 nested functions, called repeatedly.
pub(super) fn deep(size: Size) -> Result<Outcome, String> {
    const DEPTH: usize = 1_000;
    let chain: Vec<Function> = all().take(DEPTH).collect();
    let session = session();
    let times = size.pick(100, 10_000);
    descend(&chain);
    report(&session)?;
    let since = ResidentMemory::now();
    (1..times).for_each(|_| descend(&chain));
    let growth = since.growth();
    let (profile, elapsed) = report(&session)?;
    assert_consistent(&profile);
    let calls = times * DEPTH as u64;
    check_equal("calls", profile.diagnostics.calls, calls)?;
    check_equal("nodes", profile.tree.len(), DEPTH)?;
    let inside = |(at, node): (usize, &gpuprof::profile::TreeNode)| {
        let above = at.checked_sub(1).map(|above| profile.tree[above].id);
        node.parent == above && node.calls == times
    };
    check_equal(
        "nodes in one chain",
        profile
            .tree
            .iter()
            .enumerate()
            .filter(|one| inside(*one))
            .count(),
        DEPTH,
    )?;
    Ok(Outcome {
        calls,
        what: format!("one chain of 1,000 nodes, every call counted; report in {elapsed:.1?}"),
        memory: Memory::flat(growth),
    })
}

fn descend(chain: &[Function]) {
    if let [first, rest @ ..] = chain {
        first(&mut || descend(rest));
    }
}

#[gpu_profile(cpu)]
fn even(depth: u64) {
    if depth > 1 {
        odd(depth - 1);
    }
}

#[gpu_profile(cpu)]
fn odd(depth: u64) {
    if depth > 1 {
        even(depth - 1);
    }
}

/// Two functions that call each other, 1,000 deep and then far deeper than there are paths.
pub(super) fn recursion(size: Size) -> Result<Outcome, String> {
    const DEPTH: u64 = 1_000;
    const RUNAWAY_DEPTH: u64 = 100_000;
    let session = session();
    let times = size.pick(100, 10_000);
    even(DEPTH);
    report(&session)?;
    let since = ResidentMemory::now();
    (1..times).for_each(|_| even(DEPTH));
    let growth = since.growth();
    let (profile, _) = report(&session)?;
    assert_consistent(&profile);
    check_equal("calls", profile.diagnostics.calls, times * DEPTH)?;
    // A stack frame takes a few hundred bytes, one kilobyte in an unoptimized build.
    let runaway = thread::Builder::new()
        .stack_size(1 << 30)
        .spawn(|| even(RUNAWAY_DEPTH));
    runaway
        .map_err(|error| error.to_string())?
        .join()
        .map_err(|_| "the recursion panicked")?;
    let (profile, elapsed) = report(&session)?;
    let dropped = RUNAWAY_DEPTH - PATHS;
    check_equal("dropped", profile.diagnostics.dropped, dropped)?;
    let calls = times * DEPTH + RUNAWAY_DEPTH;
    check_equal(
        "calls and dropped calls",
        profile.diagnostics.calls + dropped,
        calls,
    )?;
    Ok(Outcome {
        calls,
        what: format!(
            "1,000 deep: every call counted; {} deep: {} dropped, each counted; \
             report in {elapsed:.1?}",
            with_separators(RUNAWAY_DEPTH),
            with_separators(dropped)
        ),
        memory: Memory::flat(growth),
    })
}
