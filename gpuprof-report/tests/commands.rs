//! The command lines under a full report, as a reader copies them.

mod profiles;

use gpuprof_report::profile::{Profile, ToolCommand};
use profiles::{full, options, quickstart, report};

fn with_commands() -> Profile {
    let command = |what: &str, line: &str| {
        let mut command = ToolCommand::default();
        command.what = what.into();
        command.line = line.into();
        command
    };
    let mut profile = quickstart();
    profile.cupti = Some(Default::default());
    profile.commands = vec![
        command(
            "inside the hottest kernel (saxpy, in blas/saxpy; add the program's path and \
             arguments)",
            "GPUPROF=nvtx ncu --nvtx --nvtx-include 'gpuprof@blas\\/saxpy/' --kernel-name saxpy \
             --launch-count 1 --set full quickstart",
        ),
        command(
            "the time line of the program",
            "GPUPROF=nvtx nsys profile -t cuda,nvtx -o report quickstart",
        ),
    ];
    profile
}

#[test]
fn commands_stand_whole_in_lines_of_their_own() {
    let text = report(&with_commands(), &full(60));
    let from = text.find("inside the hottest").unwrap();
    insta::assert_snapshot!("commands_60", &text[from..]);
    let text = report(&with_commands(), &options(60));
    assert!(!text.contains("inside the hottest"), "{text}");
}

#[test]
fn a_line_that_is_no_text_does_no_harm() {
    let mut profile = with_commands();
    profile.commands[0].line = "ncu \u{1b}[2J\nrm".into();
    let text = report(&profile, &full(None));
    assert!(text.contains(r"  ncu \u{1b}[2J\nrm"), "{text}");
}
