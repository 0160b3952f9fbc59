//! Promise: a span ends with its function or block, whether that returns, panics or is left early,
//! and later spans nest correctly.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;

use cudarc::driver::CudaStream;
use gpuprof::{Profile, gpu_profile, scope};
use support::executor::{pause, poll};
use support::profile_lookups::local_name;
use support::suite::Module;
use support::tests;
use support::{World, cpu_times, function, gpu_times, node, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        panics_end_every_span_they_pass,
        panics_caught_half_way_leave_the_outer_spans_open,
        early_returns_and_question_marks,
        a_scope_ends_where_its_block_ends,
        loops_left_by_labels,
        a_scope_across_an_await_is_counted_as_misnested_and_spoils_nothing_later,
        a_scope_across_an_await_that_nothing_disturbs_is_right,
        a_thread_that_dies_of_a_panic_is_reported,
    ]],
);

#[gpu_profile]
fn outer(w: &World, stream: &Arc<CudaStream>, at: u32) {
    w.cpu(100);
    middle(w, stream, at);
    w.cpu(100);
}

#[gpu_profile]
fn middle(w: &World, stream: &Arc<CudaStream>, at: u32) {
    w.cpu(20);
    innermost(w, stream, at);
    assert!(at != 2, "on purpose");
    w.cpu(20);
}

#[gpu_profile]
fn innermost(w: &World, stream: &Arc<CudaStream>, at: u32) {
    w.gpu.kernel_on(stream, 5_000);
    w.cpu(3);
    assert!(at != 1, "on purpose");
    w.cpu(3);
}

#[gpu_profile]
fn parses(w: &World, text: &str) -> Result<u64, std::num::ParseIntError> {
    w.cpu(10);
    let ns: u64 = text.parse()?;
    w.cpu(ns);
    Ok(ns)
}

#[gpu_profile]
fn early(w: &World, leave: bool) -> u32 {
    w.cpu(10);
    if leave {
        return 1;
    }
    w.cpu(5);
    2
}

#[gpu_profile]
fn first_even(w: &World, numbers: &[Option<u64>]) -> Option<u64> {
    for number in numbers {
        w.cpu(1);
        let number = (*number)?;
        if number.is_multiple_of(2) {
            return Some(number);
        }
    }
    None
}

/// Checks that the calls nest as they are made: a span left open would add nodes.
fn assert_nests_right(w: &World, profile: &Profile) {
    let stream = &w.gpu.stream;
    let depth = |name: &str| {
        let nodes = profile.tree.iter();
        nodes.filter(|node| local_name(&node.name) == name).count()
    };
    assert_eq!(
        (depth("outer"), depth("middle"), depth("innermost")),
        (1, 1, 1)
    );
    assert_eq!(node(profile, &["outer"]).parent, None);
    assert!(node(profile, &["outer", "middle", "innermost"]).calls > 0);
    assert_eq!(profile.diagnostics.misnested, 0);
    assert!(Arc::strong_count(stream) > 0);
}

fn panics_end_every_span_they_pass() {
    let w = world();
    let session = w.session();
    let stream = &w.gpu.stream;
    for at in [1, 2, 0] {
        let outcome = catch_unwind(AssertUnwindSafe(|| outer(&w, stream, at)));
        assert_eq!(outcome.is_err(), at > 0);
    }
    let profile = w.finish(session);
    // The calls take 123, 126 and 246 in all; self times exclude the nested calls.
    assert_eq!(cpu_times(&profile, "outer"), (3, 495, 400));
    assert_eq!(cpu_times(&profile, "middle"), (3, 23 + 26 + 46, 80));
    assert_eq!(cpu_times(&profile, "innermost"), (3, 15, 15));
    // The stream is idle for 120 before the first kernel and busy from then on.
    assert_eq!(gpu_times(&profile, "innermost"), (3, 15_000, 15_000));
    assert_eq!(gpu_times(&profile, "outer").0, 3);
    assert_nests_right(&w, &profile);
}

fn panics_caught_half_way_leave_the_outer_spans_open() {
    let w = world();
    let session = w.session();
    {
        scope!("catches");
        w.cpu(1_000);
        let inside = AssertUnwindSafe(|| middle(&w, &w.gpu.stream, 1));
        catch_unwind(inside).expect_err("it panics");
        w.cpu(500);
        early(&w, true);
    }
    let profile = w.finish(session);
    assert_eq!(cpu_times(&profile, "catches"), (1, 1_533, 1_500));
    assert_eq!(node(&profile, &["catches", "middle", "innermost"]).calls, 1);
    assert_eq!(node(&profile, &["catches", "early"]).calls, 1);
    assert_eq!(profile.diagnostics.misnested, 0);
}

fn early_returns_and_question_marks() {
    let w = world();
    let session = w.session();
    assert_eq!((early(&w, true), early(&w, false)), (1, 2));
    assert_eq!(parses(&w, "40"), Ok(40));
    assert!(parses(&w, "forty").is_err());
    assert_eq!(first_even(&w, &[Some(1), Some(4), Some(6)]), Some(4));
    assert_eq!(first_even(&w, &[Some(1), None, Some(6)]), None);
    assert_eq!(first_even(&w, &[Some(1)]), None);
    let profile = w.finish(session);
    assert_eq!(cpu_times(&profile, "early"), (2, 25, 25));
    assert_eq!(cpu_times(&profile, "parses"), (2, 60, 60));
    assert_eq!(cpu_times(&profile, "first_even"), (3, 5, 5));
    // All nodes are roots: no span was left open, so no later call is nested in one.
    assert!(profile.tree.iter().all(|node| node.parent.is_none()));
}

fn a_scope_ends_where_its_block_ends() {
    let w = world();
    let session = w.session();
    {
        scope!("first");
        w.cpu(1);
        {
            scope!("second");
            w.cpu(10);
        }
        w.cpu(100);
        scope!("third");
        w.cpu(1_000);
    }
    w.cpu(10_000);
    early(&w, true);
    let profile = w.finish(session);
    assert_eq!(cpu_times(&profile, "first"), (1, 1_111, 101));
    assert_eq!(cpu_times(&profile, "second"), (1, 10, 10));
    // Scopes of one block end in reverse order.
    assert_eq!(cpu_times(&profile, "third"), (1, 1_000, 1_000));
    assert_eq!(node(&profile, &["first", "third"]).calls, 1);
    assert_eq!(node(&profile, &["early"]).calls, 1);
}

fn loops_left_by_labels() {
    let w = world();
    let session = w.session();
    let mut rows = 0;
    let found = 'rows: loop {
        scope!("row");
        w.cpu(1);
        rows += 1;
        for column in 0..10 {
            scope!("column");
            w.cpu(10);
            if column == 1 {
                continue;
            }
            if column == 3 {
                if rows < 3 {
                    continue 'rows;
                }
                break 'rows column;
            }
            w.cpu(100);
        }
    };
    assert_eq!(found, 3);
    let profile = w.finish(session);
    // Each row has columns of 110, 10, 110 and 10 ns.
    assert_eq!(cpu_times(&profile, "row"), (3, 3 * 241, 3));
    assert_eq!(cpu_times(&profile, "column"), (12, 720, 720));
    assert_eq!(profile.diagnostics.misnested, 0);
}

fn a_scope_across_an_await_is_counted_as_misnested_and_spoils_nothing_later() {
    let w = world();
    let session = w.session();
    let across = |ns| {
        let w = &w;
        async move {
            scope!("across");
            w.cpu(ns);
            pause().await;
            w.cpu(ns);
        }
    };
    {
        let (mut a, mut b) = (pin!(across(1)), pin!(across(10)));
        // Span a opens, span b opens inside it, and a ends first.
        assert!(poll(a.as_mut()).is_pending());
        assert!(poll(b.as_mut()).is_pending());
        assert!(poll(a.as_mut()).is_ready());
        assert!(poll(b.as_mut()).is_ready());
    }
    outer(&w, &w.gpu.stream, 0);
    let profile = w.finish(session);
    // Both calls count, a from 0 to 12 and b from 1 to 22. Both ended out of order.
    assert_eq!(function(&profile, "across").calls, 2);
    assert_eq!(function(&profile, "across").cpu.max_ns, 21);
    assert_eq!(profile.diagnostics.misnested, 2);
    assert_eq!(cpu_times(&profile, "outer"), (1, 246, 200));
    assert_eq!(node(&profile, &["outer", "middle", "innermost"]).calls, 1);
}

fn a_scope_across_an_await_that_nothing_disturbs_is_right() {
    let w = world();
    let session = w.session();
    {
        let mut lonely = pin!(async {
            scope!("lonely");
            w.cpu(1);
            pause().await;
            w.cpu(2);
        });
        assert!(poll(lonely.as_mut()).is_pending());
        assert!(poll(lonely.as_mut()).is_ready());
    }
    let profile = w.finish(session);
    assert_eq!(cpu_times(&profile, "lonely"), (1, 3, 3));
    assert_eq!(profile.diagnostics.misnested, 0);
}

fn a_thread_that_dies_of_a_panic_is_reported() {
    let w = world();
    let session = w.session();
    std::thread::scope(|scope| {
        let dies = scope.spawn(|| outer(&w, &w.gpu.stream, 2));
        dies.join().expect_err("it panics");
    });
    let profile = w.finish(session);
    assert_eq!(cpu_times(&profile, "outer"), (1, 126, 100));
    assert_eq!(function(&profile, "outer").threads, 1);
    assert_nests_right(&w, &profile);
}
