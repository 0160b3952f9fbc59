//! The launches of several profiles.

use super::totals::add;
use crate::profile::{LaunchStacks, add_lines};

/// Adds the launches of a profile.
pub(super) fn add_stacks(sum: &mut Option<LaunchStacks>, more: &Option<LaunchStacks>) {
    let Some(more) = more else { return };
    let sum = sum.get_or_insert_default();
    add(&mut sum.calls, more.calls);
    add(&mut sum.sampled_calls, more.sampled_calls);
    add_lines(&mut sum.unattributed, &more.unattributed);
}
