//! Keeps the functions of a profile whose name matches.

use std::collections::HashMap;
use std::mem;

use gpuprof_report::profile::{Function, Profile, TreeNode, UntimedReasons};

/// Removes the functions that `keeps` refuses by name, with their calls in the call tree and in the
/// coverage. Nested calls that remain move to the nearest remaining call around them. What holds
/// for the whole program remains: devices, kernels, copies, API calls, findings and overhead.
pub(crate) fn keep_functions(profile: &mut Profile, keeps: impl Fn(&str) -> bool) {
    let mut new_index = HashMap::new();
    let functions = mem::take(&mut profile.functions);
    for (old, function) in (0_u32..).zip(functions) {
        if keeps(&function.name) {
            new_index.insert(old, profile.functions.len() as u32);
            profile.functions.push(function);
        }
    }
    let is_kept = |node: &TreeNode| match node.function {
        Some(function) => new_index.contains_key(&function),
        // The node `captured`, which stands for no function, and so for no match.
        None => false,
    };
    // Parents come before their children, so a node's kept ancestor is known when it is met.
    let mut kept_ancestor: HashMap<u32, Option<u32>> = HashMap::new();
    for mut node in mem::take(&mut profile.tree) {
        let around = node
            .parent
            .and_then(|parent| kept_ancestor.get(&parent).copied().flatten());
        if is_kept(&node) {
            kept_ancestor.insert(node.id, Some(node.id));
            node.parent = around;
            node.function = node
                .function
                .and_then(|function| new_index.get(&function).copied());
            profile.tree.push(node);
        } else {
            kept_ancestor.insert(node.id, around);
        }
    }
    count_calls(profile);
}

/// Counts calls anew over the functions that remain: the line about coverage is of the rows.
fn count_calls(profile: &mut Profile) {
    let sum = |calls: fn(&Function) -> u64| {
        let functions = profile.functions.iter();
        functions.map(calls).fold(0, u64::saturating_add)
    };
    let with_stream: fn(&Function) -> u64 = |function| {
        if function.has_stream {
            function.calls
        } else {
            0
        }
    };
    let timed: fn(&Function) -> u64 = |function| match &function.gpu {
        Some(gpu) => gpu.timed_calls,
        None => 0,
    };
    let (calls, calls_with_stream) = (sum(|function| function.calls), sum(with_stream));
    let (timed_calls, captured_calls) = (sum(timed), sum(|function| function.captured_calls));
    let mut untimed = UntimedReasons::default();
    for function in &profile.functions {
        untimed.add(&function.untimed);
    }
    let diagnostics = &mut profile.diagnostics;
    diagnostics.calls = calls;
    diagnostics.calls_with_stream = calls_with_stream;
    diagnostics.timed_calls = timed_calls;
    diagnostics.captured_calls = captured_calls;
    diagnostics.untimed = untimed;
}

/// Whether any function of the profile has run.
pub(crate) fn has_calls(profile: &Profile) -> bool {
    profile.functions.iter().any(Function::has_run)
}
