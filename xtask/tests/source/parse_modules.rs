//! Reads the files of a crate: its modules, the names that they import and the paths that they use.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A path as it is written, split at `::`.
pub(crate) type Segments = Vec<String>;

/// One source file of a crate.
#[derive(Default)]
pub(crate) struct Module {
    /// The file, relative to the repository.
    pub(crate) file: String,
    /// Names that `use` brings into the file, with the paths that they stand for.
    pub(crate) imports: Vec<Import>,
    /// Paths with at least two segments outside of `use`, and the inline modules around them.
    pub(crate) paths: Vec<(Segments, Segments)>,
    /// Identifiers outside of `use`.
    pub(crate) identifiers: BTreeSet<String>,
    /// Items that the file itself defines.
    pub(crate) items: BTreeSet<String>,
}

/// One name of a `use` declaration.
#[derive(Clone)]
pub(crate) struct Import {
    /// The inline modules around the declaration.
    pub(crate) scope: Segments,
    pub(crate) path: Segments,
    /// The name that it is known by; `None` for `*`.
    pub(crate) name: Option<String>,
    pub(crate) is_public: bool,
}

/// The modules of the crate whose root is in `folder`, by their path within the crate.
pub(crate) fn of_crate(repository: &Path, folder: &str) -> BTreeMap<Segments, Module> {
    let root = repository.join(folder);
    let mut modules = BTreeMap::new();
    for file in rust_files(&root) {
        let inside = file.strip_prefix(&root).expect("a file of the folder");
        let mut path: Segments = inside
            .with_extension("")
            .iter()
            .map(|part| part.to_string_lossy().into_owned())
            .collect();
        // Tests of a module lie below it and import it.
        if path
            .iter()
            .any(|part| part == "tests" || part == "loom_tests")
        {
            continue;
        }
        if matches!(
            path.last().map(String::as_str),
            Some("mod" | "lib" | "main")
        ) {
            path.pop();
        }
        let shown = file
            .strip_prefix(repository)
            .expect("a file of the repository");
        let text = fs::read_to_string(&file).expect("a readable file");
        let mut module = Module {
            file: shown.to_string_lossy().into_owned(),
            ..Module::default()
        };
        let tokens: TokenStream = text
            .parse()
            .unwrap_or_else(|error| panic!("{}: {error}", module.file));
        read(&mut module, tokens, &Vec::new());
        modules.insert(path, module);
    }
    modules
}

/// Every Rust file below `folder` that is not a build output.
pub(crate) fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    for entry in entries {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && !path.is_symlink() {
            if name != "target" && !name.starts_with('.') {
                files.extend(rust_files(&path));
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

fn read(module: &mut Module, tokens: TokenStream, scope: &Segments) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Ident(word) if word == "use" && is_declaration(&tokens, at) => {
                let is_public = is_public(&tokens[..at]);
                let end = (at..tokens.len())
                    .find(|&end| is_punct(&tokens, end, ';'))
                    .unwrap_or(tokens.len());
                let mut imports = Vec::new();
                read_use(&tokens[at + 1..end], &Vec::new(), &mut imports);
                module
                    .imports
                    .extend(imports.into_iter().map(|(path, name)| Import {
                        scope: scope.clone(),
                        path,
                        name,
                        is_public,
                    }));
                at = end;
            }
            TokenTree::Ident(word) if word == "mod" => {
                if let (Some(TokenTree::Ident(name)), Some(TokenTree::Group(body))) =
                    (tokens.get(at + 1), tokens.get(at + 2))
                {
                    let mut inner = scope.clone();
                    inner.push(name.to_string());
                    read(module, body.stream(), &inner);
                    at += 2;
                } else {
                    at += 1;
                }
            }
            TokenTree::Ident(_) => {
                let path = path_at(&tokens, at);
                let follows = at.checked_sub(1).is_some_and(|before| {
                    is_punct(&tokens, before, '.') || is_punct(&tokens, before, '$')
                });
                module.identifiers.extend(path.first().cloned());
                if let Some(TokenTree::Ident(word)) = tokens.get(at.wrapping_sub(1))
                    && DEFINES.contains(&word.to_string().as_str())
                {
                    module.items.extend(path.first().cloned());
                }
                at += 3 * (path.len() - 1);
                if path.len() > 1 && !follows {
                    module.paths.push((path, scope.clone()));
                }
            }
            TokenTree::Group(group) => read(module, group.stream(), scope),
            _ => {}
        }
        at += 1;
    }
}

/// The words before the name of an item.
const DEFINES: [&str; 9] = [
    "fn", "struct", "enum", "union", "trait", "type", "const", "static", "mod",
];

/// `use` also occurs in `impl Trait + use<'a>`.
fn is_declaration(tokens: &[TokenTree], at: usize) -> bool {
    !is_punct(tokens, at + 1, '<')
}

/// Whether the item whose keyword follows `before` is visible outside of its module.
fn is_public(before: &[TokenTree]) -> bool {
    match before {
        [.., TokenTree::Ident(word)] => word == "pub",
        [.., TokenTree::Ident(word), TokenTree::Group(group)] => {
            word == "pub" && group.delimiter() == Delimiter::Parenthesis
        }
        _ => false,
    }
}

pub(crate) fn is_punct(tokens: &[TokenTree], at: usize, wanted: char) -> bool {
    matches!(tokens.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == wanted)
}

/// The identifiers joined by `::` from `at` on.
fn path_at(tokens: &[TokenTree], mut at: usize) -> Segments {
    let mut path = Segments::new();
    while let Some(TokenTree::Ident(word)) = tokens.get(at) {
        path.push(word.to_string());
        if !(is_punct(tokens, at + 1, ':') && is_punct(tokens, at + 2, ':')) {
            break;
        }
        if !matches!(tokens.get(at + 3), Some(TokenTree::Ident(_))) {
            break;
        }
        at += 3;
    }
    path
}

/// The names of a `use` tree below `prefix`.
fn read_use(tokens: &[TokenTree], prefix: &Segments, found: &mut Vec<(Segments, Option<String>)>) {
    let mut path = prefix.clone();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Ident(word) if word == "as" => {
                let name = tokens.get(at + 1).map(ToString::to_string);
                found.push((without_self(path), name));
                return;
            }
            TokenTree::Ident(word) => path.push(word.to_string()),
            TokenTree::Punct(punct) if punct.as_char() == '*' => {
                found.push((path, None));
                return;
            }
            TokenTree::Group(group) => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                for one in inner.split(
                    |token| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ','),
                ) {
                    if !one.is_empty() {
                        read_use(one, &path, found);
                    }
                }
                return;
            }
            _ => {}
        }
    }
    let path = without_self(path);
    let name = path.last().cloned();
    found.push((path, name));
}

/// `a::{self}` is `a`.
fn without_self(mut path: Segments) -> Segments {
    if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
        path.pop();
    }
    path
}
