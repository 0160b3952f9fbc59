//! Random numbers of shipped code come from gpuprof's own generators.
//!
//! `Rng::new`, `Rng::default` and fastrand's global functions draw from the thread's generator,
//! which is the program's. clippy.toml forbids the functions; it cannot forbid a method of a trait.

use std::path::Path;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::parse_modules::{self, Module, Segments};

/// The sources of the crates that programs and users get.
const SHIPPED: [&str; 6] = [
    "src",
    "gpuprof-bench/src",
    "gpuprof-cli/src",
    "gpuprof-macros/src",
    "gpuprof-report/src",
    "gpuprof-runtime/src",
];

/// One line for each use of the program's generator.
pub(crate) fn of_the_program(repository: &Path) -> Vec<String> {
    let in_crate = |folder| {
        let modules = parse_modules::of_crate(repository, folder).into_values();
        modules.flat_map(|module| of_file(repository, &module))
    };
    SHIPPED.into_iter().flat_map(in_crate).collect()
}

fn of_file(repository: &Path, module: &Module) -> Vec<String> {
    let mut problems = Vec::new();
    let mut has_generators = false;
    for import in &module.imports {
        let is_of_fastrand = import.path.first().is_some_and(|first| first == "fastrand");
        has_generators |= is_of_fastrand;
        if is_of_fastrand && import.name.is_none() || draws_from_the_thread(&import.path) {
            let path = import.path.join("::");
            problems.push(format!("{} imports from {path}", module.file));
        }
    }
    for (path, _) in &module.paths {
        has_generators |= path[0] == "fastrand";
        if draws_from_the_thread(&in_full(module, path)) {
            problems.push(format!("{} uses {}", module.file, path.join("::")));
        }
    }
    if has_generators {
        let text = std::fs::read_to_string(repository.join(&module.file)).expect("a readable file");
        let tokens = text.parse().expect("parsed before");
        let structs = derived_defaults(tokens).into_iter();
        problems.extend(structs.map(|name| format!("{}: {name} derives Default", module.file)));
    }
    problems
}

/// `path` with its first name replaced by what an import of the file says that it is.
fn in_full(module: &Module, path: &Segments) -> Segments {
    let is_meant = |name: &Option<String>| name.as_ref() == path.first();
    match module.imports.iter().find(|import| is_meant(&import.name)) {
        Some(import) => import.path.iter().chain(&path[1..]).cloned().collect(),
        None => path.clone(),
    }
}

fn draws_from_the_thread(path: &Segments) -> bool {
    let names: Vec<&str> = path.iter().map(String::as_str).collect();
    match names.as_slice() {
        ["fastrand", "Rng", method, ..] => ["default", "new"].contains(method),
        ["fastrand", item, ..] => *item != "Rng",
        _ => false,
    }
}

/// The structs with an `Rng` in them that derive `Default`, which makes one by `Rng::default`.
fn derived_defaults(tokens: TokenStream) -> Vec<String> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut found = Vec::new();
    let mut is_derived = false;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket => {
                let words = words(group.stream());
                let has = |wanted| words.iter().any(|word| word == wanted);
                is_derived |= has("derive") && has("Default");
            }
            TokenTree::Group(group) => found.extend(derived_defaults(group.stream())),
            TokenTree::Ident(word) if word == "struct" => {
                let mut definition = tokens[at + 1..]
                    .iter()
                    .take_while(|token| token.to_string() != ";");
                let body = definition.find_map(|token| match token {
                    TokenTree::Group(group) => Some(words(group.stream())),
                    _ => None,
                });
                let has_generator = body.is_some_and(|body| body.iter().any(|word| word == "Rng"));
                if std::mem::take(&mut is_derived) && has_generator {
                    found.push(tokens[at + 1].to_string());
                }
            }
            TokenTree::Ident(word) if word == "enum" || word == "fn" => is_derived = false,
            _ => {}
        }
    }
    found
}

/// All identifiers, those in groups too.
fn words(tokens: TokenStream) -> Vec<String> {
    let word = |token| match token {
        TokenTree::Ident(word) => vec![word.to_string()],
        TokenTree::Group(group) => words(group.stream()),
        _ => Vec::new(),
    };
    tokens.into_iter().flat_map(word).collect()
}
