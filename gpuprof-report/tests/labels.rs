//! The rows of labels.

mod profiles;

use std::num::NonZeroUsize;

use gpuprof_report::table::{Sort, TableOptions};
use profiles::{full, layers, options, report};

fn limited(limit: usize) -> TableOptions {
    let mut options = options(120);
    options.limit = NonZeroUsize::new(limit);
    options
}

#[test]
fn the_call_tree_names_each_label_with_its_function() {
    insta::assert_snapshot!("layers_120", report(&layers(), &limited(30)));
}

#[test]
fn labels_beyond_the_limit_are_summed() {
    insta::assert_snapshot!("layers_limit_3", report(&layers(), &limited(3)));
}

#[test]
fn the_full_report_has_labels_below_their_function_in_the_order_of_the_functions() {
    let labels = |sort| {
        let mut options = full(120);
        options.sort = sort;
        let text = report(&layers(), &options);
        let rows = text.lines().filter_map(|line| line.split_once("─ ["));
        let layers = rows.filter_map(|(_, row)| row.chars().next());
        layers.filter(char::is_ascii_digit).collect::<String>()
    };
    assert_eq!(labels(Sort::Gpu), "2031");
    assert_eq!(labels(Sort::Max), "2031");
    assert_eq!(labels(Sort::Name), "0123");
    assert_eq!(labels(Sort::Cpu), "2031");
}
