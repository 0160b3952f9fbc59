//! The command lines that look further.

use super::super::commands;
use super::*;

fn line(function: &str, is_async: bool, symbol: &str) -> String {
    line_with(true, function, is_async, symbol)
}

fn line_with(has_ranges: bool, function: &str, is_async: bool, symbol: &str) -> String {
    let kernel = KernelStats {
        symbol: symbol.into(),
        ..kernel("the kernel", 10, MS)
    };
    let mut function = function_with(function, kernel);
    function.is_async = is_async;
    let lines = commands(&program(h200(), [function], &[]), has_ranges);
    lines[0].line.clone()
}

fn function_with(name: &str, kernel: KernelStats) -> Function {
    function(name, 10, 2 * MS).kernels([kernel])
}

const END: &str = " --launch-count 1 --set full program";

#[test]
fn a_pushed_range_ends_in_a_slash_and_a_started_one_does_not() {
    let range = |has_ranges, is_async| {
        let line = line_with(has_ranges, "request", is_async, "scale");
        line.strip_suffix(END).unwrap().to_owned()
    };
    let begin = "GPUPROF=nvtx ncu --nvtx --nvtx-include";
    assert_eq!(
        range(true, false),
        format!("{begin} gpuprof@request/ --kernel-name scale")
    );
    assert_eq!(
        range(true, true),
        format!("{begin} gpuprof@request --kernel-name scale")
    );
    assert_eq!(range(false, false), "GPUPROF=nvtx ncu --kernel-name scale");
}

/// The words of a line as a shell hands them on.
fn words(line: &str) -> Vec<String> {
    let output = std::process::Command::new("sh")
        .args(["-c", &format!("printf '%s\\0' {line}")])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_terminator('\0').map(str::to_owned).collect()
}

#[test]
fn names_reach_ncu_as_they_are_meant_whatever_is_in_them() {
    for (name, filter) in [
        ("conv/forward", r"gpuprof@conv\/forward/"),
        ("a [b], c", r"gpuprof@a \[b\]\, c/"),
        ("<T as Run>::go", "gpuprof@<T as Run>::go/"),
        (
            "it's \"$HOME\" `id` $(id); !",
            "gpuprof@it's \"$HOME\" `id` $(id); !/",
        ),
        ("2*x+y@z", r"gpuprof@2\*x\+y\@z/"),
        (r"back\slash", r"gpuprof@back\\slash/"),
        // NVTX gets the spelled-out name as well.
        ("esc\u{1b}ape", r"gpuprof@esc\\u{1b}ape/"),
        ("畳み込み", "gpuprof@畳み込み/"),
    ] {
        let words = words(&line(name, false, "scale"));
        let at = words
            .iter()
            .position(|word| word == "--nvtx-include")
            .unwrap();
        assert_eq!(words[at + 1], filter, "{name}");
        assert_eq!(words[at + 2], "--kernel-name", "{name}");
    }
}

#[test]
fn a_name_that_no_filter_can_hold_goes_without_one() {
    for name in [r"a\/b", r"ends in \"] {
        let line = line(name, false, "scale");
        assert_eq!(
            line,
            format!("GPUPROF=nvtx ncu --kernel-name scale{END}"),
            "{name}"
        );
    }
}

#[test]
fn a_mangled_name_is_matched_as_such() {
    let line = line("f", false, "_Z5scaleIfEvPT_i");
    assert!(
        line.ends_with(&format!(
            "--kernel-name-base mangled --kernel-name _Z5scaleIfEvPT_i{END}"
        )),
        "{line}"
    );
}

#[test]
fn the_hottest_kernel_is_meant_and_the_function_that_spends_most_in_it() {
    let functions = [
        function_with("little", kernel("hot", 5, MS)),
        function_with("much", kernel("hot", 50, MS)),
        function_with("other", kernel("cold", 50, 10 * US)),
    ];
    let mut profile = program(h200(), functions, &[]);
    profile.program = "my program".into();
    let lines = commands(&profile, true);
    assert_eq!(lines.len(), 2);
    assert_eq!(
        lines[0].what,
        "inside the hottest kernel (hot, in much; add the program's path and arguments)"
    );
    assert!(
        lines[0]
            .line
            .ends_with("--kernel-name hot --launch-count 1 --set full 'my program'"),
        "{}",
        lines[0].line
    );
    assert_eq!(
        lines[1].line,
        "GPUPROF=nvtx nsys profile -t cuda,nvtx -o report 'my program'"
    );
    profile.functions.clear();
    // Outside of any function there is no range to look in.
    let line = &commands(&profile, true)[0].line;
    assert!(
        line.starts_with("GPUPROF=nvtx ncu --kernel-name hot"),
        "{line}"
    );
}

#[test]
fn on_the_simulated_device_the_lines_are_for_another_machine() {
    let profile = program(simulated(), [function_with("f", kernel("k", 9, MS))], &[]);
    for command in commands(&profile, true) {
        assert!(
            command.what.starts_with("on a machine with a GPU, "),
            "{}",
            command.what
        );
    }
}
