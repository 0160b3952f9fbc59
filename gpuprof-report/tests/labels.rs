//! The rows of labels in the table and in the tree.

mod profiles;

use std::num::NonZeroUsize;

use gpuprof_report::table::{Sort, TableOptions, functions, tree};
use profiles::layers;

fn options(limit: usize) -> TableOptions {
    let mut options = TableOptions::default();
    options.width = Some(120);
    options.limit = NonZeroUsize::new(limit);
    options
}

fn table_text(options: &TableOptions) -> String {
    let mut out = Vec::new();
    functions::write(&layers(), options, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn labels_are_below_their_function_the_largest_first() {
    insta::assert_snapshot!("layers_120", table_text(&options(30)));
}

#[test]
fn labels_beyond_the_limit_are_summed() {
    insta::assert_snapshot!("layers_limit_3", table_text(&options(3)));
}

#[test]
fn labels_are_in_the_order_of_the_functions() {
    let labels = |sort| {
        let mut options = options(30);
        options.sort = sort;
        let text = table_text(&options);
        let rows = text.lines().filter_map(|line| line.split_once('['));
        let rows = rows.filter(|(indent, _)| indent.ends_with("─ "));
        let layers = rows.filter_map(|(_, row)| row.chars().next());
        layers.filter(char::is_ascii_digit).collect::<String>()
    };
    assert_eq!(labels(Sort::Gpu), "2031");
    assert_eq!(labels(Sort::Max), "2031");
    assert_eq!(labels(Sort::Name), "0123");
    assert_eq!(labels(Sort::Cpu), "2031");
}

#[test]
fn the_tree_names_each_label_with_its_function() {
    let mut out = Vec::new();
    tree::write(&layers(), &options(30), &mut out).unwrap();
    insta::assert_snapshot!("layers_tree_120", String::from_utf8(out).unwrap());
}
