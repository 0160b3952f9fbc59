//! Which file of a crate imports which, and the circles among them.

use std::collections::{BTreeMap, BTreeSet};

use super::parse_modules::{Import, Module, Segments};

/// For each file the files of the same crate that it imports.
pub(crate) type Graph = BTreeMap<String, BTreeSet<String>>;

/// The imports between the files of a crate.
///
/// A declaration `mod x;` is no import, and neither is a re-export of a name that the file does not
/// use itself. What is imported through a re-export is imported from the file that defines it.
pub(crate) fn graph(modules: &BTreeMap<Segments, Module>) -> Graph {
    let tree = Tree { modules };
    let mut graph = Graph::new();
    for (path, module) in modules {
        let uses = module.imports.iter().filter(|import| {
            let is_used = |name: &String| module.identifiers.contains(name);
            !import.is_public || import.name.as_ref().is_some_and(is_used)
        });
        let uses = uses.map(|import| (&import.path, &import.scope, import.name.is_none()));
        let paths = module
            .paths
            .iter()
            .map(|(path, scope)| (path, scope, false));
        let imported = uses
            .chain(paths)
            .filter_map(|(used, scope, is_glob)| tree.file(path, scope, used, is_glob));
        let imported = imported.filter(|file| *file != module.file);
        graph.insert(module.file.clone(), imported.collect());
    }
    graph
}

struct Tree<'a> {
    modules: &'a BTreeMap<Segments, Module>,
}

impl Tree<'_> {
    /// The file that defines what `used` names within the module `here`.
    fn file(
        &self,
        here: &Segments,
        scope: &Segments,
        used: &[String],
        glob: bool,
    ) -> Option<String> {
        let (home, rest) = self.resolve(here, scope, used, 0)?;
        // The name of a module alone imports nothing; what is used of it does.
        (!rest.is_empty() || glob).then(|| self.modules[&home].file.clone())
    }

    /// The module that `used` leads to, and what remains of the path there.
    fn resolve(
        &self,
        here: &Segments,
        scope: &Segments,
        used: &[String],
        depth: u8,
    ) -> Option<(Segments, Segments)> {
        let (first, rest) = used.split_first()?;
        let mut absolute = match first.as_str() {
            "crate" => Segments::new(),
            "self" | "super" => {
                let mut base = [here.clone(), scope.clone()].concat();
                if first == "super" {
                    base.pop();
                }
                base
            }
            name => {
                let module = self.modules.get(here)?;
                let child = [here.clone(), vec![name.to_owned()]].concat();
                let import = module.imports.iter().find(|import| {
                    import.name.as_deref() == Some(name) && import.path.as_slice() != used
                });
                if let Some(import) = import
                    && depth < 8
                {
                    let path = [import.path.clone(), rest.to_vec()].concat();
                    return self.resolve(here, &import.scope, &path, depth + 1);
                } else if self.modules.contains_key(&child) {
                    child
                } else {
                    return None;
                }
            }
        };
        let mut rest = rest;
        while let Some((name, after)) = rest.split_first()
            && name == "super"
        {
            absolute.pop();
            rest = after;
        }
        absolute.extend(rest.iter().cloned());
        self.descend(&absolute, depth)
    }

    /// The module of an absolute path, re-exports followed.
    fn descend(&self, absolute: &Segments, depth: u8) -> Option<(Segments, Segments)> {
        let length = (0..=absolute.len())
            .rev()
            .find(|&length| self.modules.contains_key(&absolute[..length]))?;
        let (home, rest) = absolute.split_at(length);
        let (home, rest) = (home.to_vec(), rest.to_vec());
        let Some((name, after)) = rest.split_first().filter(|_| depth < 8) else {
            return Some((home, rest));
        };
        let module = &self.modules[&home];
        let follow = |import: &Import, name: &[String]| {
            let path = [import.path.as_slice(), name, after].concat();
            self.resolve(&home, &import.scope, &path, depth + 1)
        };
        let named = |import: &&Import| import.name.as_deref() == Some(name);
        if let Some(import) = module.imports.iter().find(named) {
            return follow(import, &[]);
        }
        if !module.items.contains(name) {
            let globs = module.imports.iter();
            let mut globs = globs.filter(|import| import.is_public && import.name.is_none());
            if let Some(found) = globs.find_map(|import| follow(import, std::slice::from_ref(name)))
            {
                return Some(found);
            }
        }
        Some((home, rest))
    }
}

/// The groups of neighbours in a folder, files and folders, that import one another: as the files
/// within must go one way, so must the folders.
///
/// A file `x.rs` and the folder `x` beside it are one neighbour.
pub(crate) fn circles_of_folders(graph: &Graph) -> BTreeSet<(String, BTreeSet<String>)> {
    let mut folders: BTreeMap<String, Graph> = BTreeMap::new();
    for (importer, imported) in graph {
        for imported in imported {
            let (folder, [from, to]) = neighbours(importer, imported);
            let neighbours = folders.entry(folder).or_default();
            neighbours.entry(to.clone()).or_default();
            let imports = neighbours.entry(from.clone()).or_default();
            imports.extend((from != to).then_some(to));
        }
    }
    let circles = folders.iter().flat_map(|(folder, neighbours)| {
        let circles = circles(neighbours).into_iter();
        circles.map(|circle| (folder.clone(), circle))
    });
    circles.collect()
}

/// The deepest folder that holds both files, and their names in it.
pub(crate) fn neighbours(one: &str, other: &str) -> (String, [String; 2]) {
    let [one, other] = [one, other].map(|file| {
        let file = file.strip_suffix(".rs").unwrap_or(file);
        file.split('/').collect::<Vec<_>>()
    });
    let shared = one.iter().zip(&other).take_while(|(a, b)| a == b).count();
    // Of `x.rs` and `x/y.rs` it is the folder of `x.rs`.
    let shared = shared.min(one.len() - 1).min(other.len() - 1);
    let name = |path: &[&str]| path[shared].to_owned();
    (one[..shared].join("/"), [name(&one), name(&other)])
}

/// The groups of files that import one another, directly or by way of others in the group.
pub(crate) fn circles(graph: &Graph) -> BTreeSet<BTreeSet<String>> {
    let reach: BTreeMap<&String, BTreeSet<&String>> = graph
        .keys()
        .map(|file| (file, reachable(graph, file)))
        .collect();
    let mut circles = BTreeSet::new();
    for (file, reached) in &reach {
        let circle: BTreeSet<String> = reached
            .iter()
            .filter(|other| reach[*other].contains(file))
            .map(|other| (*other).clone())
            .collect();
        if circle.len() > 1 {
            circles.insert(circle);
        }
    }
    circles
}

/// What `file` imports, and what those import, and so on.
fn reachable<'a>(graph: &'a Graph, file: &String) -> BTreeSet<&'a String> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&String> = graph[file].iter().collect();
    while let Some(next) = open.pop() {
        if reached.insert(next) {
            open.extend(&graph[next]);
        }
    }
    reached
}
