//! The launches of several profiles.

use crate::figures::Sum;
use crate::profile::{LaunchStacks, add_lines};

/// Adds the launches of a profile.
pub(super) fn add_stacks(sum: &mut Option<LaunchStacks>, more: &Option<LaunchStacks>) {
    let Some(more) = more else { return };
    let sum = sum.get_or_insert_default();
    sum.add(more);
    add_lines(&mut sum.unattributed, &more.unattributed);
}
