//! The tests of `settings.rs` about how much of the table is shown.

use support::program::{Ended, Program};
use support::tests;

/// Every test of this file.
pub(super) const TESTS: &[(&str, fn())] = tests![
    the_width_is_the_terminals_or_that_of_columns,
    the_whole_table_has_every_row_and_column
];

fn the_width_is_the_terminals_or_that_of_columns() {
    let program = |columns: &str| {
        let program = Program::new("work").env("NO_COLOR", "1");
        match columns {
            "" => program,
            _ => program.env("COLUMNS", columns),
        }
    };
    let widest = |ended: Ended| {
        let widths = ended.stderr.lines().map(|line| line.chars().count());
        widths.max().expect("a report")
    };
    let in_a_pipe = |columns| widest(program(columns).run());
    let on_a_terminal = |of, columns| widest(program(columns).run_on_terminal(of));
    let whole = in_a_pipe("");
    assert!(whole > 80, "{whole}");
    assert!((50..=60).contains(&in_a_pipe("60")));
    for wrong in ["0", "-60", "6e1", "sixty", " 60"] {
        assert_eq!(in_a_pipe(wrong), whole, "{wrong:?}");
    }
    // The terminal is asked first, and may report no width.
    assert!((65..=80).contains(&on_a_terminal(80, "60")));
    assert!((50..=60).contains(&on_a_terminal(0, "60")));
    for none in ["", "0"] {
        assert!((65..=80).contains(&on_a_terminal(0, none)), "{none:?}");
    }
}

fn the_whole_table_has_every_row_and_column() {
    let shown = |output| {
        let program = Program::new("work").env("GPUPROF_REPORT", output);
        let ended = program.env("GPUPROF_LIMIT", "1").run();
        let has = |text: &str| ended.stderr.contains(text);
        let rows = ["backward", "forward", "pool", "load"].map(has);
        (rows, has("CPU avg"))
    };
    assert_eq!(shown("table"), ([true, false, false, false], false));
    assert_eq!(shown("table:full"), ([true; 4], true));
}
