//! Documents that no measurement gives: they are refused once, after reading, so that nothing that
//! is made from a profile has to look for them.

use std::collections::HashSet;
use std::fmt;

use crate::figures::Sum;
use crate::profile::{ApiStats, CopyStats, Function, KernelStats, Profile, TreeNode};

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
    check_sums(&profile.tree)?;
    (profile.tree.iter()).try_for_each(|node| check_sums(&node.activities))?;
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

/// Fails if the sum of a field over all rows does not fit.
fn check_sums<'a, T: Sum + 'a>(rows: impl IntoIterator<Item = &'a T>) -> Result<(), Impossible> {
    let mut sums: Vec<u64> = Vec::new();
    for row in rows {
        let mut values = Vec::with_capacity(sums.len());
        row.each_sum("", &mut |field, value| values.push((field, value)));
        sums.resize(values.len(), 0);
        for (sum, (field, value)) in sums.iter_mut().zip(values) {
            *sum = sum.checked_add(value).ok_or(Impossible::Sum(field))?;
        }
    }
    Ok(())
}

fn check_function_sums(functions: &[Function]) -> Result<(), Impossible> {
    let gpu = || {
        functions
            .iter()
            .filter_map(|function| function.gpu.as_ref())
    };
    check_sums(functions)?;
    check_sums(functions.iter().map(|function| &function.cpu))?;
    check_sums(
        functions
            .iter()
            .filter_map(|function| function.wall.as_ref()),
    )?;
    check_sums(gpu())?;
    check_sums(gpu().map(|gpu| &gpu.times))
}

fn check_activity_sums(
    kernels: &[KernelStats],
    copies: &[CopyStats],
    api: &[ApiStats],
) -> Result<(), Impossible> {
    check_sums(kernels)?;
    check_sums(kernels.iter().map(|kernel| &kernel.times))?;
    check_sums(copies)?;
    check_sums(copies.iter().map(|copies| &copies.times))?;
    check_sums(api)?;
    check_sums(api.iter().map(|api| &api.times))
}
