//! What the scrapes of one process have in common: a series never moves to another function, and no
//! counter goes down.

use std::collections::BTreeMap;

use crate::profile::Function;
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
    /// By label: the crate of its function.
    functions: BTreeMap<String, String>,
    /// By metric and device: the largest value so far.
    estimates: BTreeMap<(&'static str, Option<u32>), u64>,
}

impl Series {
    /// The label of a function that ran: its name, with its crate if a function of another crate
    /// has that name, or [`OTHER_FUNCTIONS`] if [`MAX_FUNCTIONS`] others ran before.
    pub(super) fn function(&mut self, function: &Function) -> String {
        let name = sanitize::short(&function.name, MAX_NAME).into_owned();
        let of_crate = function.module.split("::").next().unwrap_or_default();
        if self.is_known(&name, of_crate) {
            return name;
        }
        let is_taken = name == OTHER_FUNCTIONS || self.functions.contains_key(&name);
        let label = if is_taken {
            format!("{of_crate}::{name}")
        } else {
            name
        };
        if self.is_known(&label, of_crate) {
            return label;
        }
        if self.functions.len() >= MAX_FUNCTIONS {
            return OTHER_FUNCTIONS.to_owned();
        }
        self.functions.insert(label.clone(), of_crate.to_owned());
        label
    }

    fn is_known(&self, label: &str, of_crate: &str) -> bool {
        self.functions
            .get(label)
            .is_some_and(|known| known == of_crate)
    }

    /// The value of a counter that is an estimate, such as the busy time under sampling. While the
    /// estimate is below an earlier one, the counter stays.
    pub(super) fn estimate(&mut self, name: &'static str, device: Option<u32>, value: u64) -> u64 {
        let largest = self.estimates.entry((name, device)).or_default();
        *largest = value.max(*largest);
        *largest
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_FUNCTIONS, OTHER_FUNCTIONS, Series};
    use crate::profile::Function;

    fn function(module: &str, name: &str) -> Function {
        Function {
            module: module.to_owned(),
            name: name.to_owned(),
            ..Function::default()
        }
    }

    #[test]
    fn functions_of_two_crates_with_one_name_have_two_labels() {
        let mut series = Series::default();
        for _ in 0..2 {
            assert_eq!(
                series.function(&function("a::model", "model::step")),
                "model::step"
            );
            assert_eq!(
                series.function(&function("b::model", "model::step")),
                "b::model::step"
            );
        }
    }

    #[test]
    fn a_label_stays_its_functions_when_there_is_no_room() {
        let mut series = Series::default();
        for number in 0..MAX_FUNCTIONS {
            let name = format!("f{number}");
            assert_eq!(series.function(&function("a", &name)), name);
        }
        assert_eq!(series.function(&function("a", "more")), OTHER_FUNCTIONS);
        assert_eq!(series.function(&function("b", "f0")), OTHER_FUNCTIONS);
        assert_eq!(series.function(&function("a", "f499")), "f499");
    }

    #[test]
    fn a_function_of_that_name_is_none_of_the_others() {
        let mut series = Series::default();
        let label = series.function(&function("a::model", OTHER_FUNCTIONS));
        assert_eq!(label, "a::other functions");
    }

    #[test]
    fn a_counter_stays_while_its_estimate_is_below_an_earlier_one() {
        let mut series = Series::default();
        let shown = [5, 3, 6].map(|ns| series.estimate("busy", Some(0), ns));
        assert_eq!(shown, [5, 5, 6]);
        assert_eq!(series.estimate("busy", Some(1), 1), 1);
        assert_eq!(series.estimate("overhead", Some(0), 2), 2);
    }
}
