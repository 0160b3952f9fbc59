//! What a report may show of GPU times after failures: each time is exact, each sum is the sum of
//! the times that were read, and the table marks sums that lack some.

use std::panic::{AssertUnwindSafe, catch_unwind};

use gpuprof::Profile;
use gpuprof::profile::{Function, TreeNode};
use support::assert_consistent;
use support::profile_lookups::local_name;
use support::program::Ended;
use support::report_text::{self, row_name};

use super::case::function;
use super::program::{DEEP, KERNEL_NS};

/// A function for which every reported time has one right value. None of these functions is
/// recursive.
struct Exact {
    name: &'static str,
    /// The number of kernels of one call, nested spans included.
    in_all: u64,
    /// Of these, the kernels outside nested spans.
    own: u64,
    /// The number of its calls that are timed if nothing fails.
    timed: u64,
}

const fn exact(name: &'static str, [in_all, own]: [u64; 2], timed: u64) -> Exact {
    Exact {
        name,
        in_all,
        own,
        timed,
    }
}

const EXACT: [Exact; 11] = [
    exact("add", [1, 1], 109),
    exact("twice", [2, 0], 11),
    exact("on_a_thread", [2, 0], 3),
    // One kernel on each device.
    exact("on_two_devices", [1, 1], 2),
    exact("raw", [1, 1], 2),
    exact("inherits", [1, 1], 1),
    exact("around", [1, 1], 4),
    exact("program_graphs::layer", [1, 1], 2),
    exact("program_graphs::block", [2, 1], 1),
    exact("program_graphs::model", [4, 1], 1),
    exact("program_graphs::replay", [4, 4], 4),
];

/// Checks what holds in every report.
pub(crate) fn checked(ended: &Ended, profile: &Profile) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(|| assert_consistent(profile)))
        .map_err(|_| "the profile contradicts itself, as said above".to_owned())?;
    for exact in &EXACT {
        let function = function(profile, exact.name)?;
        times(exact, function)?;
        let mut nodes = profile
            .tree
            .iter()
            .filter(|node| local_name(&node.name) == exact.name);
        nodes.try_for_each(|node| own_times(exact, function, node))?;
    }
    let mut functions = profile.functions.iter();
    functions.try_for_each(|function| marked(ended, function))
}

/// Checks what holds if nothing fails: no time is missing.
pub(crate) fn whole(profile: &Profile) -> Result<(), String> {
    for exact in &EXACT {
        let function = function(profile, exact.name)?;
        let gpu = function.gpu.as_ref().ok_or("not timed")?;
        let calls = (gpu.timed_calls, function.untimed_calls);
        same(exact.name, "timed and untimed", calls, (exact.timed, 0))?;
        let own = counted(function) * exact.own * KERNEL_NS;
        same(exact.name, "self time", gpu.times.self_ns, own)?;
    }
    // A recursion: its total is that of the two outermost calls, with one kernel per level, all in
    // nested spans.
    let deep = function(profile, "deep")?;
    let gpu = deep.gpu.as_ref().ok_or("not timed")?;
    let levels = u64::from(DEEP) + 1;
    let sums = (gpu.timed_calls, gpu.times.total_ns, gpu.times.self_ns);
    let wanted = (2 * levels, 2 * levels * KERNEL_NS, 0);
    same(&deep.name, "calls and sums", sums, wanted)
}

fn same<T: PartialEq + std::fmt::Debug>(
    name: &str,
    what: &str,
    is: T,
    wanted: T,
) -> Result<(), String> {
    if is == wanted {
        Ok(())
    } else {
        Err(format!("{name}: {what} {is:?}, not {wanted:?}"))
    }
}

/// The number of timed calls; a call on two devices counts on each.
fn counted(function: &Function) -> u64 {
    let devices = function.gpu_on_each_device().iter();
    devices.map(|device| device.timed_calls).sum()
}

fn times(exact: &Exact, function: &Function) -> Result<(), String> {
    let Some(gpu) = &function.gpu else {
        return Ok(());
    };
    let each = exact.in_all * KERNEL_NS;
    let range = (gpu.times.min_ns, gpu.times.max_ns);
    same(exact.name, "least and most", range, (each, each))?;
    let sums = (gpu.times.total_ns, gpu.timed_ns);
    let all = counted(function) * each;
    same(exact.name, "sums", sums, (all, all))
}

/// A self time is the total minus the times read of nested spans. It can be larger only if calls of
/// the function itself are untimed: some nested spans may then have been in those.
fn own_times(exact: &Exact, function: &Function, node: &TreeNode) -> Result<(), String> {
    let (Some(all), Some(own)) = (node.gpu_total_ns, node.gpu_self_ns) else {
        return Ok(());
    };
    let inside = node.gpu_nested_ns;
    let elsewhere = function.untimed_calls * (exact.in_all - exact.own) * KERNEL_NS;
    let least = all.saturating_sub(inside);
    let most = all.saturating_sub(inside.saturating_sub(elsewhere));
    let is_right = (least..=most).contains(&own) && own.is_multiple_of(KERNEL_NS);
    if is_right {
        Ok(())
    } else {
        Err(format!(
            "{}: of {all} ns, {inside} inside, {own} are its own and not {least} to {most}",
            exact.name
        ))
    }
}

/// Checks that the function's row has `≥` if its sums lack calls, and only then.
fn marked(ended: &Ended, function: &Function) -> Result<(), String> {
    if function.gpu.is_none() {
        return Ok(());
    }
    let untimed = function.untimed_calls - function.untimed.no_stream;
    let lacks = function.captured_calls + untimed > 0;
    let rows = report_text::rows(&ended.stderr, "Function ");
    let mut rows = rows.iter().filter(|row| row_name(row) == function.name);
    if rows.clone().next().is_none() {
        return Err(format!("{} has no row", function.name));
    }
    // Which of its call paths lacks the calls is not known; one without a time has no mark.
    if rows.any(|row| row.contains('≥')) == lacks {
        Ok(())
    } else {
        Err(format!("{}: calls are missing: {lacks}", function.name))
    }
}
