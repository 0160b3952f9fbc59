//! Reads from a profile what tests compare.

use std::num::NonZeroU32;

use gpuprof::profile::{Function, GpuSpanStats, TreeNode, labelled};
use gpuprof::{Profile, Sampling};

use crate::current_test_file;

/// Sampling of one call in `n`, which is not 0.
pub fn one_in(n: u32) -> Sampling {
    Sampling::OneIn(NonZeroU32::new(n).expect("not 0"))
}

/// The one function of this name in the file under test, or else in this crate.
///
/// A binary holds the functions of many files. Those of other files are never called, but listed.
pub fn function<'a>(profile: &'a Profile, name: &str) -> &'a Function {
    let found = find(functions(profile), name);
    found
        .or_else(|| find(functions_of_this_crate(profile), name))
        .unwrap_or_else(|| {
            let all = profile.functions.iter();
            let names: Vec<_> = all
                .map(|function| (&function.module, &function.name))
                .collect();
            panic!("no function {name} among {names:?}")
        })
}

/// The functions of the file under test.
pub fn functions(profile: &Profile) -> impl Iterator<Item = &Function> {
    let is_here = |function: &&Function| {
        let file = current_test_file::file();
        file.is_none_or(|file| is_within(&function.module, file))
    };
    profile.functions.iter().filter(is_here)
}

fn functions_of_this_crate(profile: &Profile) -> impl Iterator<Item = &Function> {
    let all = profile.functions.iter();
    all.filter(|function| is_within(&function.module, env!("CARGO_CRATE_NAME")))
}

fn find<'a>(functions: impl Iterator<Item = &'a Function>, name: &str) -> Option<&'a Function> {
    let mut named = functions.filter(|function| local_name(&function.name) == name);
    let first = named.next();
    assert!(named.next().is_none(), "two functions are named {name}");
    first
}

/// A function's name as seen from the file under test, or from the module `program` of that file,
/// which holds the program that its tests run: `Model::run` of `nesting::Model::run`.
pub fn local_name(name: &str) -> &str {
    let file = current_test_file::file().and_then(|path| path.split_once("::"));
    let local = match file {
        Some((_, file)) => name
            .strip_prefix(file)
            .and_then(|rest| rest.strip_prefix("::")),
        // The file is the binary's `main.rs`.
        None => Some(name),
    };
    local.map_or(name, |local| {
        local.strip_prefix("program::").unwrap_or(local)
    })
}

fn is_within(module: &str, outer: &str) -> bool {
    let rest = module.strip_prefix(outer);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// GPU times of the function of this name.
pub fn gpu<'a>(profile: &'a Profile, name: &str) -> &'a GpuSpanStats {
    function(profile, name)
        .gpu
        .as_ref()
        .unwrap_or_else(|| panic!("{name} was not timed: {:#?}", function(profile, name)))
}

/// `(calls, total, self)` of the function's CPU time.
pub fn cpu_times(profile: &Profile, name: &str) -> (u64, u64, u64) {
    let function = function(profile, name);
    (function.calls, function.cpu.total_ns, function.cpu.self_ns)
}

/// `(timed calls, total, self)` of the function's GPU time.
pub fn gpu_times(profile: &Profile, name: &str) -> (u64, u64, u64) {
    let gpu = gpu(profile, name);
    (gpu.timed_calls, gpu.times.total_ns, gpu.times.self_ns)
}

/// The node with this path of names from the root, with their labels: `forward[3]`.
pub fn node<'a>(profile: &'a Profile, path: &[&str]) -> &'a TreeNode {
    let mut parent = None;
    let mut found = None;
    for name in path {
        let shown = |node: &TreeNode| match &node.label {
            Some(label) => labelled(local_name(&node.name), label),
            None => local_name(&node.name).to_owned(),
        };
        let is_child = |node: &&TreeNode| node.parent == parent && shown(node) == *name;
        let node = profile.tree.iter().find(is_child);
        found =
            Some(node.unwrap_or_else(|| panic!("no {name} of {path:?} in {:#?}", profile.tree)));
        parent = found.map(|node| node.id);
    }
    found.expect("a path has a name")
}
