//! Many places in the call tree: many functions, deep trees, recursion.

use std::sync::Barrier;
use std::thread;

use gpuprof::gpu_profile;
use load::{Function, all};

use crate::memory::Since;
use crate::scenario::{Form, Memory, Seen, grouped, report, same, session};
use support::assert_consistent;

/// What the counters of all threads may take, as documented.
const CEILING: u64 = 1 << 30;

/// Call chains of a process, as documented, but for that of code outside every span and that of
/// gpuprof's look at its own cost.
const PATHS: u64 = 65_536 - 2;

/// Every function on each of 64 threads that live at once.
pub(super) fn functions(_: Form) -> Result<Seen, String> {
    const THREADS: usize = 64;
    const TIMES: u64 = 2;
    let session = session();
    let since = Since::now();
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
    let (profile, took) = report(&session)?;
    let functions = all().count();
    let calls = (functions * THREADS) as u64 * TIMES;
    same("calls", profile.diagnostics.calls, calls)?;
    same("dropped", profile.diagnostics.dropped, 0)?;
    let everywhere = |f: &&gpuprof::profile::Function| f.threads == THREADS as u32;
    let counted = profile.functions.iter().filter(everywhere).count();
    same("functions on all threads", counted, functions)?;
    Ok(Seen {
        calls,
        what: format!(
            "{} functions × {THREADS} threads, every call counted; report in {took:.1?}",
            grouped(functions as u64),
        ),
        memory: Memory {
            growth,
            allowed: CEILING,
            since: "in all",
        },
    })
}

/// Functions called from many others, on so many threads that not all counters fit.
pub(super) fn ceiling(_: Form) -> Result<Seen, String> {
    const THREADS: usize = 40;
    let session = session();
    let since = Since::now();
    let together = Barrier::new(THREADS);
    let every: Vec<Function> = all().collect();
    // As many paths as there may be, or nearly: one for each that calls and one for each that it
    // calls.
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
    let (profile, took) = report(&session)?;
    let made = (THREADS * callers * (every.len() + 1)) as u64;
    let dropped = profile.diagnostics.dropped;
    same(
        "calls and dropped calls",
        profile.diagnostics.calls + dropped,
        made,
    )?;
    if dropped == 0 {
        return Err("nothing was dropped: the ceiling was not reached".to_owned());
    }
    Ok(Seen {
        calls: made,
        what: format!(
            "{} dropped, each counted; report in {took:.1?}",
            grouped(dropped)
        ),
        memory: Memory {
            growth,
            allowed: CEILING,
            since: "in all",
        },
    })
}

/// A chain of 1,000 functions, each inside the one before, again and again.
pub(super) fn deep(form: Form) -> Result<Seen, String> {
    const DEPTH: usize = 1_000;
    let chain: Vec<Function> = all().take(DEPTH).collect();
    let session = session();
    let times = form.pick(100, 10_000);
    descend(&chain);
    report(&session)?;
    let since = Since::now();
    (1..times).for_each(|_| descend(&chain));
    let growth = since.growth();
    let (profile, took) = report(&session)?;
    assert_consistent(&profile);
    let calls = times * DEPTH as u64;
    same("calls", profile.diagnostics.calls, calls)?;
    same("nodes", profile.tree.len(), DEPTH)?;
    let inside = |(at, node): (usize, &gpuprof::profile::TreeNode)| {
        let above = at.checked_sub(1).map(|above| profile.tree[above].id);
        node.parent == above && node.calls == times
    };
    same(
        "nodes in one chain",
        profile
            .tree
            .iter()
            .enumerate()
            .filter(|one| inside(*one))
            .count(),
        DEPTH,
    )?;
    Ok(Seen {
        calls,
        what: format!("one chain of 1,000 nodes, every call counted; report in {took:.1?}"),
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
pub(super) fn recursion(form: Form) -> Result<Seen, String> {
    const DEPTH: u64 = 1_000;
    const RUNAWAY: u64 = 100_000;
    let session = session();
    let times = form.pick(100, 10_000);
    even(DEPTH);
    report(&session)?;
    let since = Since::now();
    (1..times).for_each(|_| even(DEPTH));
    let growth = since.growth();
    let (profile, _) = report(&session)?;
    assert_consistent(&profile);
    same("calls", profile.diagnostics.calls, times * DEPTH)?;
    // A frame takes some hundred bytes, a kilobyte in an unoptimized build.
    let runaway = thread::Builder::new()
        .stack_size(1 << 30)
        .spawn(|| even(RUNAWAY));
    runaway
        .map_err(|error| error.to_string())?
        .join()
        .map_err(|_| "the recursion panicked")?;
    let (profile, took) = report(&session)?;
    let dropped = RUNAWAY - PATHS;
    same("dropped", profile.diagnostics.dropped, dropped)?;
    let calls = times * DEPTH + RUNAWAY;
    same(
        "calls and dropped calls",
        profile.diagnostics.calls + dropped,
        calls,
    )?;
    Ok(Seen {
        calls,
        what: format!(
            "1,000 deep: every call counted; {} deep: {} dropped, each counted; report in \
             {took:.1?}",
            grouped(RUNAWAY),
            grouped(dropped)
        ),
        memory: Memory::flat(growth),
    })
}
