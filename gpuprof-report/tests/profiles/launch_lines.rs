//! From which lines the kernels were launched.

use gpuprof_report::profile::*;

pub(crate) fn launch_line(function: &str, place: Option<(&str, u32)>, calls: u64) -> LaunchLine {
    let mut line = LaunchLine::default();
    function.clone_into(&mut line.function);
    line.file = place.map(|(file, _)| file.to_owned());
    line.line = place.map(|(_, line)| line);
    (line.calls, line.total_ns) = (calls, calls * 1_500);
    line
}

/// The first kernel from six lines, the second from a framework's thread; and two lines outside any
/// profiled function.
pub(crate) fn with_launch_lines(mut profile: Profile) -> Profile {
    let [first, second, ..] = profile.kernels.as_mut_slice() else {
        panic!("a profile without kernels");
    };
    let model = "digits/src/model.rs";
    first.launch_lines = (0..6)
        .map(|number| {
            let place = (model, 40 + number);
            launch_line(
                "digits::Net::forward",
                Some(place),
                60 - 10 * u64::from(number),
            )
        })
        .collect();
    first.launch_lines[0].caller = Some("digits::train at src/main.rs:99".to_owned());
    let mut framework = launch_line(
        "cubecl_cuda::compute::server::CudaServer::launch",
        Some(("cubecl-cuda-0.6.0/src/compute/server.rs", 310)),
        9,
    );
    framework.in_framework = true;
    second.launch_lines = vec![framework.clone()];
    let mut stacks = LaunchStacks::default();
    stacks.calls = profile
        .kernels
        .iter()
        .map(|kernel| kernel.times.calls)
        .sum();
    stacks.sampled_calls = 219;
    stacks.unattributed = vec![
        framework,
        launch_line("digits::warm_up", Some(("src/main.rs", 12)), 7),
        launch_line("digits::evaluate", None, 2),
    ];
    profile.stacks = Some(stacks);
    let cupti = profile.cupti.get_or_insert_default();
    (cupti.unattributed, cupti.unattributed_ns) = (40, 90_000);
    profile
}
