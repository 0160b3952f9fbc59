//! The ranges of a report as calls with their callers, thread by thread.
//!
//! nsys gives intervals; a pushed range is nested in another if its interval is, on the same
//! thread.

use std::collections::BTreeMap;

use super::export::{Range, Style};

/// How many calls each chain of callers had, over all threads. The last of a chain is the function.
pub(super) type Chains = BTreeMap<Vec<String>, u64>;

/// How many calls each function had.
pub(super) type Counts = BTreeMap<String, u64>;

/// The chains of the pushed ranges.
///
/// # Errors
/// A text for the user: a range that never ended, or two that overlap on one thread.
pub(super) fn chains(ranges: &[Range]) -> Result<Chains, String> {
    let mut threads: BTreeMap<&str, Vec<(i64, i64, &str)>> = BTreeMap::new();
    for range in ranges {
        let end = range
            .end
            .ok_or_else(|| format!("the range {} never ended", range.name))?;
        if range.style == Style::PushPop {
            let thread = threads.entry(&range.thread).or_default();
            thread.push((range.start, end, &range.name));
        }
    }
    let mut chains = Chains::new();
    for mut calls in threads.into_values() {
        // Of two ranges with the same start the longer is the outer one.
        calls.sort_by_key(|&(start, end, _)| (start, std::cmp::Reverse(end)));
        let mut open: Vec<(i64, &str)> = Vec::new();
        for (start, end, name) in calls {
            while open.last().is_some_and(|(ends, _)| *ends <= start) {
                open.pop();
            }
            if let Some((ends, outer)) = open.last()
                && *ends < end
            {
                return Err(format!(
                    "the ranges {outer} and {name} overlap on one thread"
                ));
            }
            open.push((end, name));
            let chain = open.iter().map(|(_, name)| (*name).to_string()).collect();
            *chains.entry(chain).or_default() += 1;
        }
    }
    Ok(chains)
}

/// The counts of the started ranges.
pub(super) fn started(ranges: &[Range]) -> Counts {
    let mut counts = Counts::new();
    for range in ranges.iter().filter(|range| range.style == Style::StartEnd) {
        *counts.entry(range.name.clone()).or_default() += 1;
    }
    counts
}

pub(super) mod tests {
    use support::tests;

    use super::*;

    pub(crate) const TESTS: &[(&str, fn())] = tests![
        intervals_on_one_thread_nest,
        started_ranges_are_in_no_chain,
        open_and_overlapping_ranges_are_errors,
    ];

    fn range(name: &str, style: Style, thread: &str, start: i64, end: i64) -> Range {
        Range {
            name: name.into(),
            style,
            thread: thread.into(),
            start,
            end: Some(end),
            color: None,
            category: None,
            payload: None,
        }
    }

    fn chain(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    fn intervals_on_one_thread_nest() {
        use Style::PushPop as P;
        let ranges = [
            range("outer", P, "1", 0, 100),
            range("inner", P, "1", 0, 40),
            range("inner", P, "1", 40, 50),
            range("leaf", P, "1", 41, 50),
            range("inner", P, "2", 45, 46),
            range("outer", P, "1", 100, 101),
        ];
        let expected = Chains::from([
            (chain(&["outer"]), 2),
            (chain(&["outer", "inner"]), 2),
            (chain(&["outer", "inner", "leaf"]), 1),
            (chain(&["inner"]), 1),
        ]);
        assert_eq!(chains(&ranges), Ok(expected));
    }

    fn started_ranges_are_in_no_chain() {
        let ranges = [
            range("waits", Style::StartEnd, "1", 0, 100),
            range("inner", Style::PushPop, "1", 10, 20),
        ];
        assert_eq!(chains(&ranges), Ok(Chains::from([(chain(&["inner"]), 1)])));
        assert_eq!(started(&ranges), Counts::from([("waits".into(), 1)]));
    }

    fn open_and_overlapping_ranges_are_errors() {
        let mut ranges = [
            range("a", Style::PushPop, "1", 0, 10),
            range("b", Style::PushPop, "1", 5, 15),
        ];
        assert!(chains(&ranges).is_err_and(|error| error.contains("overlap")));
        ranges[1].end = None;
        assert!(chains(&ranges).is_err_and(|error| error.contains("never ended")));
    }
}
