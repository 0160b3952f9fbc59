//! The tests of `settings.rs` about the width of the table.

use support::program::{Ended, Program};
use support::tests;

/// Every test of this file.
pub(super) const TESTS: &[(&str, fn())] = tests![the_width_is_the_terminals_or_that_of_columns];

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
