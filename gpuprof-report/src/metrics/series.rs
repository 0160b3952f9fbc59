//! What the scrapes of one process have in common: a series never moves to another function, and no
//! counter goes down.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use crate::sanitize;

/// Functions that have series of their own.
pub const MAX_FUNCTIONS: usize = 500;

/// The function that stands for all beyond the first [`MAX_FUNCTIONS`] that ran.
pub const OTHER_FUNCTIONS: &str = "other functions";

/// Characters of a function's name in a label.
const MAX_NAME: usize = 300;

/// See the module. One for a process, in all of its scrapes.
#[derive(Debug, Default)]
pub struct Series {
    functions: BTreeSet<String>,
    busy_ns: BTreeMap<u32, u64>,
}

impl Series {
    /// The label of a function that ran: its name, or [`OTHER_FUNCTIONS`] if [`MAX_FUNCTIONS`]
    /// others ran before.
    pub(super) fn function<'a>(&mut self, name: &'a str) -> Cow<'a, str> {
        let name = sanitize::short(name, MAX_NAME);
        if self.functions.contains(name.as_ref()) {
            return name;
        }
        if self.functions.len() >= MAX_FUNCTIONS {
            return Cow::Borrowed(OTHER_FUNCTIONS);
        }
        self.functions.insert(name.clone().into_owned());
        name
    }

    /// The busy time of a device: under sampling it is an estimate that may go down, and the
    /// counter then waits for it.
    pub(super) fn busy_ns(&mut self, device: u32, ns: u64) -> u64 {
        let largest = self.busy_ns.entry(device).or_default();
        *largest = ns.max(*largest);
        *largest
    }
}
