//! What every profile of a random program must satisfy.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic;

use gpuprof::Profile;
use gpuprof::profile::{Function, TreeNode};
use serde_json::Value;

use super::division::Division;
use super::span_log::{Span, SpanLog};

/// What the names of these functions begin with.
const PREFIX: &str = "random/";

/// The functions of random programs.
const NAMES: [&str; 10] = [
    "on",
    "other",
    "both",
    "inherits",
    "cpu",
    "on_async",
    "other_async",
    "both_async",
    "inherits_async",
    "cpu_async",
];

/// No time of these programs is longer, ns; a difference below 0 would be.
const LONGEST_NS: u64 = 1_000_000_000;

/// The statements that `profile` breaks, given the calls that the program wrote down.
pub(super) fn broken(profile: &Profile, log: &SpanLog) -> Vec<String> {
    let mut broken = Vec::new();
    calls_are_counted_once(profile, log, &mut broken);
    no_number_is_negative(profile, &mut broken);
    let division = Division::new(log);
    exclusive_times_are_covered(profile, &division, &mut broken);
    device_is_busy_within_bounds(profile, &mut broken);
    broken
}

/// The same at the end of a program, where every GPU time is known and exact.
pub(super) fn broken_at_end(profile: &Profile, log: &SpanLog) -> Vec<String> {
    let mut broken = broken(profile, log);
    let division = Division::new(log);
    every_call_is_timed(profile, log, &mut broken);
    broken.extend(contradiction(profile));
    if log.is_one_window() {
        let paths = Paths::new(profile, log, &division);
        paths.inclusive_times_hold_nested_ones(&mut broken);
        // A call that is open, or whose end is on another thread's stream, is none of the division.
        let is_timed = |span: &Span| span.streams.is_empty() || log.is_timed(span);
        if log
            .spans
            .iter()
            .all(|span| span.has_ended() && is_timed(span))
        {
            paths.times_are_exact(&mut broken);
            device_is_busy_while_a_call_is_open(profile, &division, &mut broken);
        }
    }
    broken
}

/// Where the profile contradicts itself.
fn contradiction(profile: &Profile) -> Option<String> {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| ()));
    let checked = panic::catch_unwind(|| support::assert_consistent(profile));
    panic::set_hook(hook);
    let message = |panic: &Box<dyn Any + Send>| match panic.downcast_ref::<String>() {
        Some(message) => message.clone(),
        None => "the profile contradicts itself".into(),
    };
    checked.err().as_ref().map(message)
}

fn function<'a>(profile: &'a Profile, name: &str) -> Option<&'a Function> {
    let is_it = |one: &&Function| one.name.strip_prefix(PREFIX) == Some(name);
    profile.functions.iter().find(is_it)
}

fn calls_are_counted_once(profile: &Profile, log: &SpanLog, broken: &mut Vec<String>) {
    for name in NAMES {
        let counted = function(profile, name).map_or((0, 0), |one| (one.calls, one.open_calls));
        let made = log.calls(name);
        if counted != made || profile.diagnostics.dropped > 0 {
            broken.push(format!(
                "{name}: {} calls ended and {} are in progress, counted are {} and {}, dropped {}",
                made.0, made.1, counted.0, counted.1, profile.diagnostics.dropped
            ));
        }
    }
}

/// Every number that the JSON has, and every amount.
fn no_number_is_negative(profile: &Profile, broken: &mut Vec<String>) {
    let json = serde_json::to_value(profile).expect("a profile is written as JSON");
    let mut left = vec![(String::new(), &json)];
    while let Some((key, value)) = left.pop() {
        match value {
            Value::Object(fields) => {
                left.extend(fields.iter().map(|(key, value)| (key.clone(), value)));
            }
            Value::Array(items) => left.extend(items.iter().map(|item| (key.clone(), item))),
            Value::Number(number) => {
                let number = number.as_f64().unwrap_or(f64::NAN);
                let is_long = key.ends_with("_ns") && number > LONGEST_NS as f64;
                if number < 0.0 || is_long {
                    broken.push(format!("{key} is {number}"));
                }
            }
            _ => {}
        }
    }
    // JSON has no number for these.
    for function in &profile.functions {
        let gpu = function.gpu.as_ref();
        let timed = gpu.map(|gpu| [gpu.timed_bytes, gpu.timed_flops, gpu.timed_items]);
        let all = [function.bytes, function.flops, function.items];
        let mut amounts = timed.iter().flatten().chain(&all).flatten();
        if amounts.any(|amount| !amount.is_finite()) {
            broken.push(format!("{}: {all:?} and {timed:?}", function.name));
        }
    }
}

/// What a sum of parts may be more than the parts because of rounding, ns.
const SUM_ERROR_NS: f64 = 1.0;

fn exclusive_times_are_covered(profile: &Profile, division: &Division, broken: &mut Vec<String>) {
    let covered = division.covered_ns();
    let of_functions = profile.functions.iter().filter_map(|one| one.gpu.as_ref());
    let of_paths = profile.tree.iter().filter_map(|node| node.gpu_self_ns);
    let sums = [
        (
            "functions",
            of_functions.map(|gpu| gpu.times.self_ns).sum::<u64>(),
        ),
        ("call paths", of_paths.sum::<u64>()),
    ];
    for (what, exclusive) in sums {
        if exclusive as f64 > covered + SUM_ERROR_NS {
            broken.push(format!(
                "calls have {covered:.1} ns of their streams; exclusive in {what}: {exclusive} ns"
            ));
        }
    }
}

/// Places of spans are read in single precision, from events of the last 100 ms.
const PLACE_ERROR_NS: u64 = 8;

/// At least as long as the longest call, and at most as long as the window and as all calls.
fn device_is_busy_within_bounds(profile: &Profile, broken: &mut Vec<String>) {
    let timed = || profile.functions.iter().filter_map(|one| one.gpu.as_ref());
    let longest = timed().map(|gpu| gpu.times.max_ns).max().unwrap_or(0);
    let sum: u64 = timed().map(|gpu| gpu.timed_ns).sum();
    let error = PLACE_ERROR_NS * timed().map(|gpu| gpu.timed_calls).sum::<u64>();
    let busy: u64 = profile.gpu_busy.iter().map(|device| device.busy_ns).sum();
    // Of time that a call shares with one that is open, the other part is not known yet.
    let least = if profile.functions.iter().any(|one| one.open_calls > 0) {
        0
    } else {
        longest.min(profile.wall_ns)
    };
    if busy + error < least || busy > sum + error || busy > profile.wall_ns {
        let wall = profile.wall_ns;
        broken.push(format!(
            "busy for {busy} ns; longest call {longest} ns, sum {sum} ns, wall {wall} ns"
        ));
    }
}

/// The device is busy while a call is open on any stream.
fn device_is_busy_while_a_call_is_open(
    profile: &Profile,
    division: &Division,
    broken: &mut Vec<String>,
) {
    let busy = profile.gpu_busy.first().copied().unwrap_or_default();
    let wanted = division.busy_ns().min(profile.wall_ns);
    let error = PLACE_ERROR_NS * division.elapsed().len() as u64;
    if busy.busy_ns.abs_diff(wanted) > error || busy.is_upper_bound {
        broken.push(format!("busy for {wanted} ns, not {busy:?}"));
    }
}

fn every_call_is_timed(profile: &Profile, log: &SpanLog, broken: &mut Vec<String>) {
    for name in NAMES {
        let named = log.spans.iter().filter(|span| span.name == name);
        let wanted = named.filter(|span| log.is_timed(span)).count() as u64;
        let gpu = function(profile, name).and_then(|one| one.gpu.as_ref());
        let timed = gpu.map_or(0, |gpu| gpu.timed_calls);
        if timed != wanted {
            broken.push(format!(
                "{name}: {wanted} calls have both events, {timed} are timed"
            ));
        }
    }
}

/// A call path with its node of the profile and its calls.
struct Path<'a> {
    names: Vec<&'static str>,
    node: &'a TreeNode,
    spans: Vec<usize>,
}

/// The call paths of a profile.
struct Paths<'a> {
    log: &'a SpanLog,
    exclusive: BTreeMap<usize, f64>,
    elapsed: &'a BTreeMap<usize, u64>,
    paths: Vec<Path<'a>>,
}

impl<'a> Paths<'a> {
    fn new(profile: &'a Profile, log: &'a SpanLog, division: &'a Division) -> Self {
        let mut calls: BTreeMap<Vec<&str>, Vec<usize>> = BTreeMap::new();
        for span in 0..log.spans.len() {
            calls.entry(log.path(span)).or_default().push(span);
        }
        let paths = calls.into_iter().filter_map(|(names, spans)| {
            let node = node(profile, &names)?;
            Some(Path { names, node, spans })
        });
        Self {
            log,
            exclusive: division.exclusive(),
            elapsed: division.elapsed(),
            paths: paths.collect(),
        }
    }

    /// A call's inclusive time holds its exclusive time and those of all nested calls on the same
    /// stream that ended before it did. A future can outlast the call around its first poll.
    fn inclusive_times_hold_nested_ones(&self, broken: &mut Vec<String>) {
        for path in &self.paths {
            let inside = || {
                self.paths
                    .iter()
                    .filter(|other| other.names.starts_with(&path.names))
            };
            let is_on_one_stream = || {
                let mut streams = inside().flat_map(|path| &path.spans).map(|span| {
                    let streams = &self.log.spans[*span].streams;
                    streams
                        .first()
                        .filter(|_| streams.len() == 1)
                        .map(|on| on.stream)
                });
                let first = streams.next().flatten();
                first.is_some() && streams.all(|stream| stream == first)
            };
            let is_timed = path
                .spans
                .iter()
                .all(|span| self.elapsed.contains_key(span));
            if !is_timed || !is_on_one_stream() || self.has_outlasting(path) {
                continue;
            }
            let inclusive = path.node.gpu_total_ns.unwrap_or(0);
            let exclusive: u64 = inside().filter_map(|path| path.node.gpu_self_ns).sum();
            let rounding = inside().count() as u64;
            if exclusive > inclusive + rounding {
                broken.push(format!(
                    "{:?}: inclusive {inclusive} ns, exclusive with nested {exclusive} ns",
                    path.names
                ));
            }
        }
        for path in &self.paths {
            let children = self
                .paths
                .iter()
                .filter(|other| other.node.parent == Some(path.node.id));
            let is_sync = |path: &Path| {
                path.spans.iter().all(|span| {
                    let span = &self.log.spans[*span];
                    !span.is_async && span.has_ended()
                })
            };
            let nested: u64 = children.clone().map(|child| child.node.cpu_total_ns).sum();
            let (total, own) = (path.node.cpu_total_ns, path.node.cpu_self_ns);
            if is_sync(path) && children.clone().all(is_sync) && total < own + nested {
                broken.push(format!(
                    "{:?}: CPU {total} ns, self {own}, nested {nested}",
                    path.names
                ));
            }
        }
    }

    /// Whether a call below this path outlasts the one that it is nested in.
    fn has_outlasting(&self, path: &Path) -> bool {
        (0..self.log.spans.len()).any(|span| {
            let mut around = self
                .log
                .ancestors(span)
                .filter(|one| path.spans.contains(one));
            around.any(|around| self.log.is_outlasting(span, around))
        })
    }

    /// Inclusive times are the elapsed ones, exclusive times the equal parts of segments. The work
    /// of a call on several streams is nested on some of them while others are idle: of its parts,
    /// the longest is only the most that is its own.
    fn times_are_exact(&self, broken: &mut Vec<String>) {
        for path in &self.paths {
            let timed = || {
                path.spans
                    .iter()
                    .filter(|span| self.elapsed.contains_key(span))
            };
            let inclusive: u64 = timed().filter_map(|span| self.elapsed.get(span)).sum();
            let exclusive = timed().filter_map(|span| self.exclusive.get(span));
            let exclusive = exclusive.fold(0.0, |sum, ns| sum + ns);
            let node = (
                path.node.gpu_total_ns.unwrap_or(0),
                path.node.gpu_self_ns.unwrap_or(0),
            );
            let rounding = timed().count() as f64;
            let has_several = timed().any(|span| self.log.spans[*span].streams.len() > 1);
            let missing = exclusive - node.1 as f64;
            let is_exact = missing <= rounding || has_several;
            if node.0 != inclusive || missing < -rounding || !is_exact {
                broken.push(format!(
                    "{:?}: inclusive {inclusive} ns, exclusive {exclusive:.1} ns, not {node:?}",
                    path.names
                ));
            }
        }
    }
}

fn node<'a>(profile: &'a Profile, path: &[&str]) -> Option<&'a TreeNode> {
    let mut parent = None;
    let mut found = None;
    for name in path {
        let is_it = |node: &&TreeNode| {
            node.parent == parent && node.name.strip_prefix(PREFIX) == Some(*name)
        };
        found = Some(profile.tree.iter().find(is_it)?);
        parent = found.map(|node| node.id);
    }
    found
}
