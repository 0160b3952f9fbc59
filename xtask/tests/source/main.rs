//! Rules that hold for every source file: imports go one way and never in a circle, unsafe code is
//! found in few rooms, state is in the collector, random numbers are gpuprof's own, files have a
//! readable size, documents are short, and links of Markdown files lead somewhere.

mod documents;
mod file_sizes;
mod imports;
mod layers;
mod markdown_links;
mod parse_modules;
mod random_numbers;
mod statics;

use std::collections::BTreeSet;
use std::path::Path;

/// The sources whose files must not import one another in circles.
const CRATES: [&str; 18] = [
    "benches/src",
    "examples",
    "src",
    "gpuprof-bench/src",
    "gpuprof-cli/src",
    "gpuprof-macros/src",
    "gpuprof-report/src",
    "gpuprof-runtime/src",
    "kernels/src",
    "tests/load/src",
    "tests/nvtx-recorder/src",
    "tests/promises/src",
    "tests/sim/base/src",
    "tests/sim/cuda/src",
    "tests/sim/cupti/src",
    "tests/sim/nvml/src",
    "tests/support/src",
    "xtask/src",
];

fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// Fails with all problems at once.
fn expect_none(problems: &[String], rule: &str) {
    assert!(problems.is_empty(), "{rule}:\n{}", problems.join("\n"));
}

#[test]
fn files_do_not_import_each_other_in_circles() {
    let mut problems = Vec::new();
    for folder in CRATES {
        let graph = imports::graph(&parse_modules::of_crate(repository(), folder));
        for circle in imports::circles(&graph) {
            problems.push(format!("a circle of {} files:", circle.len()));
            for file in &circle {
                let next: Vec<_> = graph[file].intersection(&circle).cloned().collect();
                problems.push(format!("  {file} imports {}", next.join(", ")));
            }
        }
    }
    expect_none(&problems, "no circle of imports");
}

#[test]
fn folders_do_not_import_each_other_in_circles() {
    let mut problems = Vec::new();
    for crate_folder in CRATES {
        let graph = imports::graph(&parse_modules::of_crate(repository(), crate_folder));
        for (folder, circle) in imports::circles_of_folders(&graph) {
            let names: Vec<_> = circle.iter().map(String::as_str).collect();
            problems.push(format!("in {folder}: {}", names.join(", ")));
            for (importer, imported) in &graph {
                for imported in imported {
                    let (at, [from, to]) = imports::neighbours(importer, imported);
                    if at == folder && from != to && circle.contains(&from) && circle.contains(&to)
                    {
                        problems.push(format!("  {importer} imports {imported}"));
                    }
                }
            }
        }
    }
    expect_none(&problems, "no circle of folders");
}

#[test]
fn rooms_import_only_what_lies_below_them() {
    let graph = imports::graph(&parse_modules::of_crate(repository(), layers::RUNTIME));
    expect_none(&layers::upward(&graph), "imports go down the layers");
}

#[test]
fn packages_depend_on_one_another_one_way() {
    expect_none(
        &layers::forbidden_dependencies(repository()),
        "dependencies of packages",
    );
}

#[test]
fn unsafe_code_is_in_the_listed_rooms() {
    expect_none(&layers::unsafe_code(repository()), "unsafe code");
}

#[test]
fn state_is_in_the_collector() {
    expect_none(
        &statics::unlisted(repository()),
        "no static of the runtime without a reason",
    );
}

#[test]
fn files_have_a_readable_size() {
    expect_none(
        &file_sizes::oversized(repository()),
        "at most 400 lines of 100 columns",
    );
}

#[test]
fn random_numbers_are_not_drawn_from_the_programs_generator() {
    expect_none(
        &random_numbers::of_the_program(repository()),
        "only fastrand's Rng, made by gpuprof_runtime::os::random or with a seed",
    );
}

#[test]
fn what_a_stranger_meets_first_is_short_and_complete() {
    let mut problems = documents::too_long(repository());
    problems.extend(documents::off_the_map(repository()));
    problems.extend(documents::drawn_without_a_file(repository()));
    problems.extend(documents::tests_that_are_gone(repository()));
    problems.extend(layers::missing(repository()));
    problems.extend(documents::slow_demo(repository()));
    problems.extend(documents::other_cuda_versions(repository()));
    expect_none(&problems, "documents and the demo");
}

#[test]
fn links_lead_to_files_and_headings() {
    expect_none(
        &markdown_links::dead(repository()),
        "no link to a file or heading that does not exist",
    );
}

#[test]
fn circles_are_found_through_reexports_and_qualified_paths() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in [
        ("lib.rs", "mod a; mod b; mod c; mod d; pub use a::A;"),
        ("a.rs", "use crate::b; pub struct A(b::inner::B);"),
        ("b/mod.rs", "pub mod inner; pub use inner::*;"),
        (
            "b/inner.rs",
            "pub struct B; fn f() { super::super::c::g() }",
        ),
        ("c.rs", "use crate::{A, d::D}; pub fn g() {}"),
        // No circle: nothing that `d` imports leads back to it.
        ("d.rs", "pub struct D; mod tests { use super::D; }"),
    ] {
        let path = folder.path().join("src").join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
    let graph = imports::graph(&parse_modules::of_crate(folder.path(), "src"));
    let expected = ["src/a.rs", "src/b/inner.rs", "src/c.rs"].map(str::to_owned);
    assert_eq!(
        imports::circles(&graph),
        BTreeSet::from([BTreeSet::from(expected)]),
        "{graph:?}"
    );
    let neighbours = ["a", "b", "c"].map(str::to_owned);
    assert_eq!(
        imports::circles_of_folders(&graph),
        BTreeSet::from([("src".to_owned(), BTreeSet::from(neighbours))]),
        "{graph:?}"
    );
}
