//! Promise: whatever a program does, exclusive GPU times never exceed the time for which its
//! streams were covered, every call is counted once, inclusive times hold exclusive and nested
//! ones, and values are dropped as without the attribute.
//!
//! Programs are random. A failure prints the smallest program found and what it breaks.
//! `GPUPROF_TEST_SEED=N` draws other programs, `GPUPROF_TEST_CASES=N` so many of them.

mod division;
mod enclosing;
mod functions;
mod invariants;
mod program;
mod run;
mod span_log;
mod strategy;
mod turns;

use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use gpuprof::{Sampling, Session};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestError, TestRunner};
use support::program::Program as ProgramUnderTest;
use support::suite::Module;
use support::tests;
use support::{World, world};

use functions::{Annotated, Plain};
use program::Program;
use run::{Functions, Run, Watcher};
use span_log::SpanLog;
use strategy::Features;

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        programs_in_which_nothing_overlaps,
        programs_whose_calls_overlap,
        programs_with_calls_on_several_streams,
        programs_with_resets,
        programs_whose_profile_is_made_inside_calls,
        processes_that_exit_inside_calls,
    ]],
)
.with_program(exit_inside_calls);

fn programs_in_which_nothing_overlaps() {
    check(Features::default());
}

fn programs_whose_calls_overlap() {
    check(Features {
        overlap: true,
        ..Features::default()
    });
}

fn programs_with_calls_on_several_streams() {
    for overlap in [false, true] {
        check(Features {
            overlap,
            several_streams: true,
            ..Features::default()
        });
    }
}

fn programs_with_resets() {
    for overlap in [false, true] {
        check(Features {
            overlap,
            resets: true,
            ..Features::default()
        });
    }
}

fn programs_whose_profile_is_made_inside_calls() {
    for overlap in [false, true] {
        check(Features {
            overlap,
            several_streams: overlap,
            ends_inside: true,
            ..Features::default()
        });
    }
}

/// The report at exit, of programs that are not made smaller: the same program in this process
/// shows what each call should have.
fn processes_that_exit_inside_calls() {
    let w: &'static World = Box::leak(Box::new(world()));
    let seed = from_environment("GPUPROF_TEST_SEED").unwrap_or(1);
    for seed in (1000 * seed..).take(16) {
        let program = exiting_program(seed);
        let log = Arc::new(Mutex::default());
        Run::execute_program(w, program, &Plain, Box::new(Logging(Arc::clone(&log))));
        let log = log.lock().expect("no panic").take();
        let log = log.expect("the program ends");
        if log.spans.is_empty() {
            // A process without a call writes no report.
            continue;
        }
        let (ended, profile) = ProgramUnderTest::new(&seed.to_string())
            .env("GPUPROF_SAMPLE", "1")
            .profiled();
        assert!(ended.status.success(), "{ended:#?}");
        let broken = invariants::broken_at_end(&profile, &log);
        assert_eq!(broken, [""; 0], "seed {seed}:\n{program:?}");
    }
}

fn exiting_program(seed: u64) -> &'static Program {
    let features = Features {
        overlap: seed.is_multiple_of(2),
        several_streams: seed.is_multiple_of(3),
        ends_inside: true,
        ..Features::default()
    };
    let mut runner = TestRunner::new(config(seed));
    let tree = strategy::programs(features).new_tree(&mut runner);
    Box::leak(Box::new(tree.expect("a program").current()))
}

/// The process: its scenario is the seed of the program.
fn exit_inside_calls(seed: &str) -> ExitCode {
    let w: &'static World = Box::leak(Box::new(world()));
    let program = exiting_program(seed.parse().expect("a seed"));
    Run::execute_program(w, program, &Annotated, Box::new(Exiting));
    ExitCode::FAILURE
}

fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn config(seed: u64) -> Config {
    Config {
        cases: from_environment("GPUPROF_TEST_CASES").unwrap_or(100) as u32,
        failure_persistence: None,
        max_shrink_iters: 2_000,
        rng_seed: RngSeed::Fixed(seed),
        ..Config::default()
    }
}

/// Draws programs and executes each.
fn check(features: Features) {
    let w: &'static World = Box::leak(Box::new(world()));
    let seed = from_environment("GPUPROF_TEST_SEED").unwrap_or(1);
    let mut runner = TestRunner::new(config(seed));
    let failure = runner.run(&strategy::programs(features), |program| {
        let broken = execute(w, program);
        if broken.is_empty() {
            Ok(())
        } else {
            Err(TestCaseError::fail(broken.join("\n")))
        }
    });
    match failure {
        Ok(()) => {}
        Err(TestError::Fail(broken, program)) => {
            panic!("seed {seed}:\n{program:?}\n{broken}")
        }
        Err(TestError::Abort(reason)) => panic!("seed {seed}: {reason}"),
    }
}

/// Executes a program with and without the attribute. Returns the statements that it breaks.
fn execute(w: &'static World, program: Program) -> Vec<String> {
    let program: &'static Program = Box::leak(Box::new(program));
    let builder = Session::builder().sampling(Sampling::EveryCall);
    let session = builder.start().expect("no other session is open");
    let watched = Arc::new(Watched {
        session: Mutex::new(Some(session)),
        broken: Mutex::default(),
    });
    let run = |functions, watcher| Run::execute_program(w, program, functions, watcher);
    let with = run(&Annotated as &dyn Functions, Box::new(Arc::clone(&watched)));
    let without = run(&Plain, Box::new(Unwatched));
    let mut broken = std::mem::take(&mut *watched.broken.lock().expect("no panic"));
    if with != without {
        broken.push(format!(
            "values are dropped in the order {with:?}, not {without:?}"
        ));
    }
    broken
}

/// The session of a program, and what its profiles break.
struct Watched {
    session: Mutex<Option<Session>>,
    broken: Mutex<Vec<String>>,
}

impl Watcher for Arc<Watched> {
    fn snapshot(&self, log: &SpanLog) {
        let broken = invariants::broken(&gpuprof::snapshot(), log);
        self.broken.lock().expect("no panic").extend(broken);
    }

    fn end(&self, log: &SpanLog) {
        let session = self.session.lock().expect("no panic").take();
        let profile = session.expect("a session").finish();
        let broken = invariants::broken_at_end(&profile, log);
        self.broken.lock().expect("no panic").extend(broken);
    }
}

/// Keeps the calls as they are at the end.
struct Logging(Arc<Mutex<Option<SpanLog>>>);

impl Watcher for Logging {
    fn snapshot(&self, _: &SpanLog) {}

    fn end(&self, log: &SpanLog) {
        *self.0.lock().expect("no panic") = Some(log.clone());
    }
}

/// Ends the process on the thread whose turn it is.
struct Exiting;

impl Watcher for Exiting {
    fn snapshot(&self, _: &SpanLog) {}

    fn end(&self, _: &SpanLog) {
        std::process::exit(0);
    }
}

/// Of a program without the attribute there is nothing to see.
struct Unwatched;

impl Watcher for Unwatched {
    fn snapshot(&self, _: &SpanLog) {}
    fn end(&self, _: &SpanLog) {}
}
