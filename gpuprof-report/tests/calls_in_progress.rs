//! The report of a program whose functions are still running.

mod profiles;

use std::num::NonZeroUsize;

use profiles::{full, options, report, server};

#[test]
fn calls_in_progress_have_columns_and_a_line() {
    insta::assert_snapshot!("server_60", report(&server(), &options(60)));
    insta::assert_snapshot!("server_120", report(&server(), &options(120)));
    insta::assert_snapshot!("server_full", report(&server(), &full(None)));
}

#[test]
fn calls_in_progress_beyond_the_limit_are_summed() {
    let mut options = options(120);
    options.limit = NonZeroUsize::new(1);
    insta::assert_snapshot!("server_limit_1", report(&server(), &options));
}

#[test]
fn before_the_end_of_the_process_they_are_not_said_to_run_at_exit() {
    let mut running = server();
    running.at_exit = false;
    let text = report(&running, &options(120));
    assert!(text.contains("\nin progress: server::accept"), "{text}");
}
