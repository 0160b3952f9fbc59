//! Numbers that several traces use for different things.

use std::collections::{HashMap, HashSet};

/// Numbers of one trace are below 2^40, and those of 8,000 traces below 2^53, up to which a reader
/// in JavaScript is exact.
const BITS: u32 = 40;

/// The number of an arrow, track or call of the trace at this position; `None` if it is too large.
pub(super) fn distinct(number: u64, position: u64) -> Option<u64> {
    let limit = 1 << BITS;
    let is_small = number < limit && position < limit >> (2 * BITS - 53);
    is_small.then_some(number | (position << BITS))
}

/// Process numbers: the first trace that has a number keeps it, another gets the next free one.
#[derive(Default)]
pub(super) struct ProcessNumbers {
    taken: HashSet<String>,
    /// By position of the trace and number there.
    given: HashMap<(u64, String), String>,
    spare: u64,
}

/// Above the process numbers of Linux.
const FIRST_SPARE: u64 = 6_000_000;

impl ProcessNumbers {
    /// The number for `pid` of the trace at this position.
    pub(super) fn number(&mut self, position: u64, pid: &str) -> &str {
        let Self {
            taken,
            given,
            spare,
        } = self;
        given.entry((position, pid.to_owned())).or_insert_with(|| {
            let mut number = pid.to_owned();
            while !taken.insert(number.clone()) {
                number = (FIRST_SPARE + *spare).to_string();
                *spare += 1;
            }
            number
        })
    }
}
