//! The table and the tree of a program whose functions are still running.

mod profiles;

use std::num::NonZeroUsize;

use gpuprof_report::profile::Profile;
use gpuprof_report::table::{TableOptions, functions, tree};
use profiles::server;

fn options(width: usize) -> TableOptions {
    let mut options = TableOptions::default();
    options.width = Some(width);
    options
}

fn table_text(profile: &Profile, options: &TableOptions) -> String {
    let mut out = Vec::new();
    functions::write(profile, options, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn calls_in_progress_have_columns_and_a_line() {
    for width in [60, 120] {
        let text = table_text(&server(), &options(width));
        insta::assert_snapshot!(format!("server_{width}"), text);
    }
    let mut out = Vec::new();
    tree::write(&server(), &options(120), &mut out).unwrap();
    insta::assert_snapshot!("server_tree_120", String::from_utf8(out).unwrap());
}

#[test]
fn calls_in_progress_beyond_the_limit_are_summed() {
    let mut options = options(120);
    options.limit = NonZeroUsize::new(1);
    insta::assert_snapshot!("server_limit_1", table_text(&server(), &options));
}

#[test]
fn before_the_end_of_the_process_they_are_not_said_to_run_at_exit() {
    let mut running = server();
    running.at_exit = false;
    let text = table_text(&running, &options(120));
    assert!(text.contains("\nin progress: server::accept"), "{text}");
}
