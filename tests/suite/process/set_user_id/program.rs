//! The program that the tests of `set_user_id.rs` run, by scenario.

use std::process::ExitCode;

use gpuprof::gpu_profile;

#[gpu_profile(cpu)]
fn tick() {}

pub(super) fn run(scenario: &str) -> ExitCode {
    match scenario {
        "by the environment" => tick(),
        "in a session" => {
            let session = gpuprof::Session::builder()
                .cupti(gpuprof::CuptiMode::On)
                .start()
                .expect("the only one");
            tick();
            assert_eq!(session.finish().diagnostics.calls, 0);
        }
        _ => panic!("no scenario {scenario}"),
    }
    ExitCode::SUCCESS
}
