//! Documents that no measurement gives: they are refused once, after reading, so that nothing that
//! is made from a profile has to look for them.

use std::collections::HashSet;
use std::fmt;

use crate::profile::{ApiStats, CopyStats, Function, KernelStats, NodeActivity, Profile, TreeNode};

/// What contradicts itself in a document.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Impossible {
    /// Two nodes of the call tree have this id.
    SameId(u32),
    /// The parent of the node with this id is not before it: it is missing, or the nodes form a
    /// cycle.
    Parent(u32),
    /// An index beyond the end of the list that it is for.
    Index {
        /// The field.
        field: &'static str,
        /// Its value.
        index: u32,
    },
    /// The sum of this field over all rows exceeds 64 bits.
    Sum(&'static str),
}

impl fmt::Display for Impossible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SameId(id) => write!(f, "two nodes of the call tree have the id {id}"),
            Self::Parent(id) => write!(
                f,
                "the parent of node {id} of the call tree is not before it"
            ),
            Self::Index { field, index } => {
                write!(f, "{field} {index} is beyond the end of its list")
            }
            Self::Sum(field) => write!(f, "the sum of {field} exceeds 64 bits"),
        }
    }
}

/// # Errors
/// The first contradiction.
pub(super) fn check(profile: &Profile) -> Result<(), Impossible> {
    check_parents(&profile.tree)?;
    check_indices(profile)?;
    check_tree_sums(&profile.tree)?;
    check_function_sums(&profile.functions)?;
    check_activity_sums(&profile.kernels, &profile.copies, &profile.api)?;
    profile.functions.iter().try_for_each(|function| {
        let activity = &function.activity;
        check_activity_sums(&activity.kernels, &activity.copies, &activity.api)
    })
}

fn check_parents(tree: &[TreeNode]) -> Result<(), Impossible> {
    let mut before = HashSet::with_capacity(tree.len());
    tree.iter().try_for_each(|node| {
        if node.parent.is_some_and(|parent| !before.contains(&parent)) {
            return Err(Impossible::Parent(node.id));
        }
        if before.insert(node.id) {
            Ok(())
        } else {
            Err(Impossible::SameId(node.id))
        }
    })
}

fn check_indices(profile: &Profile) -> Result<(), Impossible> {
    let within = |field, index: Option<u32>, length: usize| match index {
        Some(index) if index as usize >= length => Err(Impossible::Index { field, index }),
        _ => Ok(()),
    };
    let functions = profile.functions.len();
    for node in &profile.tree {
        within("function", node.function, functions)?;
        for activity in &node.activities {
            within("kernel", activity.kernel, profile.kernels.len())?;
            within("copies", activity.copies, profile.copies.len())?;
        }
    }
    for benchmark in &profile.benchmarks {
        within("function", Some(benchmark.function), functions)?;
    }
    let ranks = profile.ranks.iter().flat_map(|ranks| &ranks.functions);
    for function in ranks {
        within("function", Some(function.function), functions)?;
    }
    Ok(())
}

/// A field's name, and its value in a row.
type Field<T> = (&'static str, fn(&T) -> u64);

/// Fails if the sum of a field over all rows does not fit.
fn check_sums<T>(rows: &[T], fields: &[Field<T>]) -> Result<(), Impossible> {
    fields.iter().try_for_each(|(field, value)| {
        let sum = rows.iter().map(value).try_fold(0, u64::checked_add);
        sum.map(drop).ok_or(Impossible::Sum(field))
    })
}

fn check_tree_sums(tree: &[TreeNode]) -> Result<(), Impossible> {
    check_sums(
        tree,
        &[
            ("calls", |node| node.calls),
            ("open_calls", |node| node.open_calls),
            ("open_ns", |node| node.open_ns),
            ("cpu_total_ns", |node| node.cpu_total_ns),
            ("cpu_self_ns", |node| node.cpu_self_ns),
            ("gpu_total_ns", |node| node.gpu_total_ns.unwrap_or(0)),
            ("gpu_self_ns", |node| node.gpu_self_ns.unwrap_or(0)),
            ("gpu_nested_ns", |node| node.gpu_nested_ns),
            ("busy_ns", |node| node.busy_ns.unwrap_or(0)),
            ("idle_ns", |node| node.idle_ns.unwrap_or(0)),
        ],
    )?;
    tree.iter().try_for_each(|node| {
        let fields: &[Field<NodeActivity>] = &[
            ("calls", |activity| activity.calls),
            ("total_ns", |activity| activity.total_ns),
        ];
        check_sums(&node.activities, fields)
    })
}

fn check_function_sums(functions: &[Function]) -> Result<(), Impossible> {
    check_sums(
        functions,
        &[
            ("calls", |function| function.calls),
            ("open_calls", |function| function.open_calls),
            ("open_ns", |function| function.open_ns),
            ("cpu.total_ns", |function| function.cpu.total_ns),
            ("cpu.self_ns", |function| function.cpu.self_ns),
            ("wall.total_ns", |function| {
                function.wall.as_ref().map_or(0, |wall| wall.total_ns)
            }),
            ("gpu.total_ns", |function| {
                function.gpu.as_ref().map_or(0, |gpu| gpu.times.total_ns)
            }),
            ("gpu.self_ns", |function| {
                function.gpu.as_ref().map_or(0, |gpu| gpu.times.self_ns)
            }),
            ("gpu_nested_ns", |function| function.gpu_nested_ns),
            ("captured_calls", |function| function.captured_calls),
            ("untimed_calls", |function| function.untimed_calls),
        ],
    )
}

fn check_activity_sums(
    kernels: &[KernelStats],
    copies: &[CopyStats],
    api: &[ApiStats],
) -> Result<(), Impossible> {
    check_sums(
        kernels,
        &[
            ("calls", |kernel| kernel.times.calls),
            ("total_ns", |kernel| kernel.times.total_ns),
            ("graph_calls", |kernel| kernel.graph_calls),
        ],
    )?;
    check_sums(
        copies,
        &[
            ("calls", |copies| copies.times.calls),
            ("total_ns", |copies| copies.times.total_ns),
            ("bytes", |copies| copies.bytes),
        ],
    )?;
    check_sums(
        api,
        &[
            ("calls", |api| api.times.calls),
            ("total_ns", |api| api.times.total_ns),
            ("failed", |api| api.failed),
        ],
    )
}
