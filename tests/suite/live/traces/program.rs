//! The programs that the tests of `traces.rs` run, under a virtual clock.

use std::process::ExitCode;

use gpuprof::gpu_profile;
use support::{World, world};

use crate::files::{hear_from_test, say_to_test};

#[gpu_profile(stream = w.gpu.stream, label = number)]
fn call(w: &World, number: u32) {
    w.gpu.kernel(1_000);
    w.cpu(2_000);
    let _ = number;
}

/// Makes one call before, two during and one between recordings; see the test.
pub(super) fn run(scenario: &str) -> ExitCode {
    let w = world();
    let numbered = |number| {
        call(&w, number);
        w.gpu.context.synchronize().expect("synchronize");
    };
    numbered(1);
    support::program::ready();
    for number in 2..5 {
        hear_from_test(&format!("go{number}"));
        numbered(number);
        say_to_test(&format!("did{number}"));
    }
    hear_from_test("end");
    let has_time_line = gpuprof::collect_trace().is_some();
    assert_eq!(has_time_line, scenario == "with-output");
    ExitCode::SUCCESS
}
