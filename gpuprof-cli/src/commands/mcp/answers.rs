//! The texts that the tools answer with.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;

use gpuprof_report::compare::{self, ComparisonOptions, compare};
use gpuprof_report::profile::{Finding, Profile, TreeNode};
use gpuprof_report::table::{self, TableOptions};
use serde::Serialize;
use serde_json::{Value, json};

use super::names;

/// The call paths of a function, longest GPU time first; the others are counted.
const MAX_PATHS: usize = 20;

/// The report.
pub(super) fn summary(profile: &Profile, limit: usize, full: bool) -> String {
    let mut options = TableOptions::default();
    options.limit = NonZeroUsize::new(limit);
    options.full = full;
    options.full_report = Some("full = true");
    let mut text = Vec::new();
    // Writing into memory cannot fail.
    let _ = table::write(profile, &options, &mut text);
    if text.is_empty() {
        "no profiled function has run".to_owned()
    } else {
        String::from_utf8_lossy(&text).into_owned()
    }
}

/// One function.
///
/// # Errors
/// If the name says none, or several.
pub(super) fn function(profile: &Profile, name: &str) -> Result<String, String> {
    let (index, function) = names::function(profile, name)?;
    let mut answer = without_histograms(function);
    let (paths, more) = paths(profile, index);
    if let Value::Object(fields) = &mut answer {
        fields.remove("kernels");
        fields.insert("paths".into(), paths.into());
        fields.insert("more_paths".into(), more.into());
        fields.insert("nested_functions".into(), nested(profile, index).into());
        let findings: Vec<Value> = findings_about(profile, Some(&function.name)).collect();
        fields.insert("findings".into(), findings.into());
    }
    Ok(answer.to_string())
}

/// The kernels of a function, or of the program.
///
/// # Errors
/// If the name says no function, or several, or if kernels were not recorded.
pub(super) fn kernels(
    profile: &Profile,
    name: Option<&str>,
    limit: usize,
) -> Result<String, String> {
    let kernels = match name {
        Some(name) => &names::function(profile, name)?.1.activity.kernels,
        None => &profile.kernels,
    };
    if kernels.is_empty() && profile.cupti.is_none() {
        let why = profile.diagnostics.cupti_unavailable();
        let off = "kernels are not in this profile: run the program with GPUPROF_CUPTI=on";
        return Err(why.unwrap_or(off).into());
    }
    let limit = NonZeroUsize::new(limit).map_or(usize::MAX, NonZeroUsize::get);
    let shown: Vec<Value> = kernels.iter().take(limit).map(without_histograms).collect();
    let more = kernels.len() - shown.len();
    Ok(json!({"kernels": shown, "more_kernels": more}).to_string())
}

/// What to improve, and the commands for a closer look.
///
/// # Errors
/// If the name says no function, or several.
pub(super) fn findings(profile: &Profile, name: Option<&str>) -> Result<String, String> {
    let function = match name {
        Some(name) => Some(names::function(profile, name)?.1.name.as_str()),
        None => None,
    };
    let findings: Vec<Value> = findings_about(profile, function).collect();
    let mut answer = json!({"wall_ns": profile.wall_ns, "findings": findings});
    if function.is_none() && !profile.commands.is_empty() {
        answer["commands"] = value(&profile.commands);
    }
    Ok(answer.to_string())
}

/// The comparison of two versions.
///
/// # Errors
/// If there is nothing to compare.
pub(super) fn diff(old: &[Profile], new: &[Profile], limit: usize) -> Result<String, String> {
    if old.is_empty() {
        return Err("old: name at least one run to compare with".into());
    }
    let comparison = compare(old, new, &ComparisonOptions::default());
    if comparison.items.is_empty() {
        Err("no function ran in any of the runs: there is nothing to compare".into())
    } else {
        Ok(compare::to_text(&comparison, limit, false))
    }
}

/// The findings about a function, or all.
pub(super) fn findings_about<'a>(
    profile: &'a Profile,
    function: Option<&'a str>,
) -> impl Iterator<Item = Value> + 'a {
    let is_about = move |finding: &&Finding| match function {
        Some(name) => finding.function.as_deref() == Some(name),
        None => true,
    };
    profile.findings.iter().filter(is_about).map(value)
}

/// The call paths that end in a function, and how many more there are.
fn paths(profile: &Profile, index: usize) -> (Vec<Value>, usize) {
    let mut nodes: Vec<&TreeNode> = nodes_of(profile, index).collect();
    nodes.sort_by_key(|node| std::cmp::Reverse((node.gpu_total_ns, node.cpu_total_ns)));
    let shown = nodes.iter().take(MAX_PATHS).map(|node| {
        json!({
            "path": path(profile, node),
            "label": node.label,
            "calls": node.calls,
            "cpu_total_ns": node.cpu_total_ns,
            "cpu_self_ns": node.cpu_self_ns,
            "gpu_total_ns": node.gpu_total_ns,
            "gpu_self_ns": node.gpu_self_ns,
        })
    });
    (shown.collect(), nodes.len().saturating_sub(MAX_PATHS))
}

/// The functions that a function calls, by name.
pub(super) fn nested(profile: &Profile, index: usize) -> Vec<String> {
    let own: BTreeSet<u32> = nodes_of(profile, index).map(|node| node.id).collect();
    let is_inside = |node: &&TreeNode| node.parent.is_some_and(|parent| own.contains(&parent));
    let nested = profile.tree.iter().filter(is_inside);
    let names: BTreeSet<&String> = nested.map(|node| &node.name).collect();
    names.into_iter().cloned().collect()
}

/// Where a function is in the call tree.
fn nodes_of(profile: &Profile, index: usize) -> impl Iterator<Item = &TreeNode> {
    let is_it = move |node: &&TreeNode| node.function.map(|found| found as usize) == Some(index);
    profile.tree.iter().filter(is_it)
}

/// The names on the way to a node, outermost first. Parents come before their children, so that
/// the search goes backwards and ends.
fn path<'a>(profile: &'a Profile, node: &'a TreeNode) -> Vec<&'a str> {
    let mut names = vec![node.name.as_str()];
    let mut wanted = node.parent;
    let before = profile
        .tree
        .iter()
        .rev()
        .skip_while(|other| other.id != node.id);
    for other in before.skip(1) {
        if Some(other.id) == wanted {
            names.push(&other.name);
            wanted = other.parent;
        }
    }
    names.reverse();
    names
}

/// A part of the profile, as its JSON document has it.
pub(super) fn value(part: &impl Serialize) -> Value {
    // Plain data with text for keys: there is nothing that JSON cannot hold.
    serde_json::to_value(part).unwrap_or_default()
}

/// A share to four digits after the decimal point.
pub(super) fn rounded(share: f64) -> f64 {
    (share * 1e4).round() / 1e4
}

/// The same without histograms, which are long and say little to a reader.
fn without_histograms(part: &impl Serialize) -> Value {
    let mut value = value(part);
    remove_histograms(&mut value);
    value
}

fn remove_histograms(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("histogram");
            fields.values_mut().for_each(remove_histograms);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_histograms),
        _ => {}
    }
}
