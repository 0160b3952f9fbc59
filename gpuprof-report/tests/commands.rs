//! The command lines under a report, as a reader copies them.

mod profiles;

use gpuprof_report::profile::{Command, Profile};
use gpuprof_report::table::{TableOptions, functions};
use profiles::quickstart;

fn with_commands() -> Profile {
    let command = |what: &str, line: &str| {
        let mut command = Command::default();
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

fn end(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    let text = String::from_utf8(out).unwrap();
    let from = text.find("inside the hottest").unwrap();
    text[from..].to_owned()
}

#[test]
fn commands_stand_whole_in_lines_of_their_own() {
    let mut options = TableOptions::default();
    options.width = Some(60);
    let profile = with_commands();
    let table = end(|out| functions::write(&profile, &options, out).unwrap());
    insta::assert_snapshot!("table_60", table);
}

#[test]
fn a_line_that_is_no_text_does_no_harm() {
    let mut profile = with_commands();
    profile.commands[0].line = "ncu \u{1b}[2J\nrm".into();
    let table = profile.to_string();
    assert!(table.contains(r"  ncu \u{1b}[2J\nrm"), "{table}");
}
