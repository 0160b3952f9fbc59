//! The calls that gpuprof's JSON reports, compared with the ranges of the same run.
//!
//! The JSON is read without gpuprof's types: the document is what users get.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::ranges::{Chains, Counts};

/// How many differences are shown.
const MAX_SHOWN: usize = 12;

/// The calls of one run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Calls {
    /// Chains without an async function.
    plain: Chains,
    /// Chains below an async function, each without its callers: the thread that polls a future
    /// need not be the one that polled it first, so its enclosing ranges there are unknown.
    polled: Chains,
    /// The async functions.
    started: Counts,
}

impl Calls {
    /// Reads a document `gpuprof.profile/1`.
    ///
    /// # Errors
    /// A text for the user: it is no such document.
    pub(super) fn read(text: &str) -> Result<Calls, String> {
        let document: Value =
            serde_json::from_str(text).map_err(|error| format!("gpuprof's JSON: {error}"))?;
        Calls::from_document(&document).ok_or_else(|| "gpuprof's JSON lacks a field".into())
    }

    fn from_document(document: &Value) -> Option<Calls> {
        let functions = document["functions"].as_array()?;
        let mut asynchronous = BTreeSet::new();
        for (index, function) in functions.iter().enumerate() {
            if function["is_async"].as_bool()? {
                asynchronous.insert(index as u64);
            }
        }
        let mut calls = Calls::default();
        // By id: the chain, and whether an async function was cut off its front.
        let mut chains: BTreeMap<u64, (Vec<String>, bool)> = BTreeMap::new();
        for node in document["tree"].as_array()? {
            let (mut chain, mut polled) = match node["parent"].as_u64() {
                Some(parent) => chains.get(&parent)?.clone(),
                None => (Vec::new(), false),
            };
            let name = node["name"].as_str()?.to_string();
            let count = node["calls"].as_u64()?;
            if asynchronous.contains(&node["function"].as_u64()?) {
                (chain, polled) = (Vec::new(), true);
                *calls.started.entry(name).or_default() += count;
            } else {
                chain.push(name);
                let chains = if polled {
                    &mut calls.polled
                } else {
                    &mut calls.plain
                };
                *chains.entry(chain.clone()).or_default() += count;
            }
            chains.insert(node["id"].as_u64()?, (chain, polled));
        }
        // A node without ended calls exists only for its children.
        calls.plain.retain(|_, count| *count > 0);
        calls.polled.retain(|_, count| *count > 0);
        calls.started.retain(|_, count| *count > 0);
        Some(calls)
    }

    /// Takes the calls of these functions without their callers: the span around them was carried
    /// from another thread, whose ranges nsys does not nest them in.
    pub(super) fn without_callers_of(mut self, carried: &[&str]) -> Calls {
        for (chain, calls) in std::mem::take(&mut self.plain) {
            let first = chain
                .iter()
                .position(|name| carried.contains(&name.as_str()));
            let chain = chain[first.unwrap_or(0)..].to_vec();
            *self.plain.entry(chain).or_default() += calls;
        }
        self
    }

    /// How many calls there are.
    pub(super) fn count(&self) -> u64 {
        let chains = self.plain.values().chain(self.polled.values());
        chains.chain(self.started.values()).sum()
    }

    /// Whether ranges are exactly these calls: the names, the counts, and the callers.
    ///
    /// # Errors
    /// One line per difference, the first [`MAX_SHOWN`].
    pub(super) fn compare(&self, chains: &Chains, started: &Counts) -> Result<(), String> {
        let mut left = chains.clone();
        let mut lines = Vec::new();
        for (chain, &calls) in &self.plain {
            let seen = left.remove(chain).unwrap_or_default();
            // Additional ranges may be calls below a future that this thread polled at the same
            // position.
            let rest = seen.saturating_sub(calls);
            if rest > 0 {
                left.insert(chain.clone(), rest);
            }
            if seen < calls {
                lines.push(difference(chain, calls, seen));
            }
        }
        // The longest chains first, because they match the fewest positions.
        let mut polled: Vec<_> = self.polled.iter().collect();
        polled.sort_by_key(|(chain, _)| std::cmp::Reverse(chain.len()));
        for (below, &calls) in polled {
            let mut missing = calls;
            for (chain, seen) in &mut left {
                if chain.ends_with(below) {
                    let taken = missing.min(*seen);
                    missing -= taken;
                    *seen -= taken;
                }
            }
            if missing > 0 {
                lines.push(difference(below, calls, calls - missing));
            }
        }
        for (chain, seen) in left.into_iter().filter(|(_, seen)| *seen > 0) {
            let calls = self.plain.get(&chain).copied().unwrap_or_default();
            lines.push(difference(&chain, calls, calls + seen));
        }
        for name in self
            .started
            .keys()
            .chain(started.keys())
            .collect::<BTreeSet<_>>()
        {
            let of = |counts: &Counts| counts.get(name).copied().unwrap_or_default();
            if of(&self.started) != of(started) {
                let name = format!("async {name}");
                lines.push(difference(&[name], of(&self.started), of(started)));
            }
        }
        // One extra range shifts all that follow, so only the first differences are shown.
        let more = lines.len().saturating_sub(MAX_SHOWN);
        lines.truncate(MAX_SHOWN);
        if more > 0 {
            lines.push(format!("and {more} more"));
        }
        if lines.is_empty() {
            Ok(())
        } else {
            Err(lines.join("\n  "))
        }
    }
}

fn difference(chain: &[String], calls: u64, ranges: u64) -> String {
    format!("{}: {calls} calls, {ranges} ranges", chain.join(" > "))
}

pub(super) mod tests {
    use support::tests;

    use super::*;

    pub(crate) const TESTS: &[(&str, fn())] = tests![
        a_complete_report_agrees,
        a_missing_range_is_a_difference,
        a_range_too_many_is_a_difference,
    ];

    fn chain(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    /// main_loop 1 { step 3 { load 3 }, request (async) 2 { copy 2 { load 2 } } }, load 4
    fn calls() -> Calls {
        let node = |id: u64, parent: Option<u64>, function: u64, calls: u64| {
            let name = ["main_loop", "step", "load", "request", "copy"][function as usize];
            serde_json::json!({
                "id": id, "parent": parent, "name": name, "function": function, "calls": calls
            })
        };
        let function = |is_async: bool| serde_json::json!({"is_async": is_async});
        let document = serde_json::json!({
            "functions": [
                function(false), function(false), function(false), function(true), function(false),
            ],
            "tree": [
                node(0, None, 0, 1), node(1, Some(0), 1, 3), node(2, Some(1), 2, 3),
                node(3, Some(0), 3, 2), node(4, Some(3), 4, 2), node(5, Some(4), 2, 2),
                node(6, None, 2, 4),
            ],
        });
        Calls::read(&document.to_string()).expect("complete")
    }

    fn seen() -> (Chains, Counts) {
        let chains = [
            (&["main_loop"][..], 1),
            (&["main_loop", "step"], 3),
            (&["main_loop", "step", "load"], 3),
            // One request was polled inside main_loop, one on another thread.
            (&["main_loop", "copy"], 1),
            (&["main_loop", "copy", "load"], 1),
            (&["copy"], 1),
            (&["copy", "load"], 1),
            (&["load"], 4),
        ];
        let chains = chains.map(|(names, count)| (chain(names), count));
        (chains.into(), Counts::from([("request".into(), 2)]))
    }

    fn a_complete_report_agrees() {
        let (chains, started) = seen();
        assert_eq!(calls().compare(&chains, &started), Ok(()));
        assert_eq!(calls().count(), 17);
    }

    fn a_missing_range_is_a_difference() {
        let (mut chains, started) = seen();
        chains.insert(chain(&["main_loop", "step", "load"]), 2);
        chains.remove(&chain(&["copy", "load"]));
        let expected =
            "main_loop > step > load: 3 calls, 2 ranges\n  copy > load: 2 calls, 1 ranges";
        assert_eq!(calls().compare(&chains, &started), Err(expected.into()));
    }

    fn a_range_too_many_is_a_difference() {
        let (mut chains, mut started) = seen();
        chains.insert(chain(&["load"]), 5);
        chains.insert(chain(&["step"]), 1);
        started.clear();
        let expected = "load: 4 calls, 5 ranges\n  step: 0 calls, 1 ranges\n  \
                        async request: 2 calls, 0 ranges";
        assert_eq!(calls().compare(&chains, &started), Err(expected.into()));
    }
}
