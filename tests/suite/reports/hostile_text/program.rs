//! The program that the tests of `hostile_text.rs` run, by scenario.

use std::process::ExitCode;

use gpuprof::gpu_profile;

/// Clears the screen, sets the title, forges a report, turns its direction, hides. (A NUL does not
/// compile.)
pub(super) const EVIL: &str = "a\x1b[2J\x1b]0;t\x07\r\ngpuprof: forged · wall 1 s\
    \u{202e}\u{9b}31m\u{200b}\u{e0041}\"'<b>&\\z";

#[gpu_profile(
    cpu,
    name = "a\x1b[2J\x1b]0;t\x07\r\ngpuprof: forged · wall 1 s\
        \u{202e}\u{9b}31m\u{200b}\u{e0041}\"'<b>&\\z",
    category = "\x1b[2J\u{202e}c"
)]
fn evil() {}

#[gpu_profile(name = "no\x1b[2J\nstream\u{2028}")]
fn without_a_stream() {}

#[gpu_profile(cpu, name = "never\x1b[2J\ncalled\u{2029}")]
#[expect(dead_code, reason = "the report lists what never ran")]
fn never_called() {}

#[gpu_profile(cpu, name = "awaited\x1b[2J\n\u{feff}")]
async fn awaited() {}

pub(super) fn run(scenario: &str) -> ExitCode {
    match scenario {
        // A program with CUDA is told which functions have no stream.
        "names" => {
            let sim = simcuda::install().expect("the simulated driver is built");
            drop(support::Gpu::new(sim, 0));
        }
        // Set by the program itself, because Linux does not pass such long variables to a new
        // process.
        "megabyte" => set_megabytes(),
        _ => panic!("no scenario {scenario}"),
    }
    evil();
    without_a_stream();
    let mut future = std::pin::pin!(awaited());
    let waker = std::task::Waker::noop();
    let polled = future
        .as_mut()
        .poll(&mut std::task::Context::from_waker(waker));
    assert!(polled.is_ready());
    ExitCode::SUCCESS
}

fn set_megabytes() {
    let text = format!(
        "{}{}",
        super::unlike_a_head(),
        "x\u{301}\x1b".repeat(1 << 18)
    );
    for variable in [
        "GPUPROF_REPORT",
        "GPUPROF_SORT",
        "GPUPROF_FILTER",
        "GPUPROF_x",
    ] {
        let (name, value) = match variable {
            "GPUPROF_REPORT" => (
                variable.to_owned(),
                format!("table,table:full,json=/{text}"),
            ),
            "GPUPROF_x" => (format!("GPUPROF_{text}").replace('=', ""), "on".to_owned()),
            "GPUPROF_FILTER" => (variable.to_owned(), format!("(({text}")),
            _ => (variable.to_owned(), text.clone()),
        };
        // SAFETY: this process has no other thread yet.
        unsafe { std::env::set_var(name, value) };
    }
}
