//! From which stacks activities were launched.

use smallvec::SmallVec;

use crate::cupti::collect::stack_table::StackId;

/// Stacks of a row that are told apart; the others are one. A stack is of one call path and mostly
/// of one kernel, so all rows together have hardly more than there are stacks.
pub(crate) const MAX_ROW_STACKS: usize = 1 << 10;

/// What was launched from one stack, of the launches whose stack was sampled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LaunchTotals {
    pub(crate) activities: u64,
    /// Their GPU time.
    pub(crate) total_ns: u64,
}

/// The stacks of one row, by number.
#[derive(Clone, Debug, Default)]
pub(crate) struct StackTotals(SmallVec<[(StackId, LaunchTotals); 1]>);

impl StackTotals {
    /// Adds an activity of so many ns.
    pub(crate) fn add_activity(&mut self, stack: StackId, ns: u64) {
        let totals = LaunchTotals {
            activities: 1,
            total_ns: ns,
        };
        self.add(stack, totals);
    }

    fn add(&mut self, stack: StackId, totals: LaunchTotals) {
        let position = |stack: StackId| self.0.binary_search_by_key(&stack, |(known, _)| *known);
        let (stack, found) = match position(stack) {
            Err(_) if self.0.len() >= MAX_ROW_STACKS => {
                (StackId::OTHERS, position(StackId::OTHERS))
            }
            found => (stack, found),
        };
        let index = found.unwrap_or_else(|index| {
            self.0.insert(index, (stack, LaunchTotals::default()));
            index
        });
        if let Some((_, sum)) = self.0.get_mut(index) {
            sum.activities += totals.activities;
            sum.total_ns += totals.total_ns;
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        other
            .iter()
            .for_each(|(stack, totals)| self.add(stack, totals));
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (StackId, LaunchTotals)> {
        self.0.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::{LaunchTotals, MAX_ROW_STACKS, StackId, StackTotals};

    #[test]
    fn totals_of_a_stack_add_up_and_stacks_beyond_the_limit_are_one() {
        let stack = |number| StackId::from_number(number).expect("not 0");
        let mut all = StackTotals::default();
        for number in (1..=MAX_ROW_STACKS as u16 + 5).chain([3]) {
            all.add_activity(stack(number), 10);
        }
        let of = |wanted| all.iter().find(|(id, _)| *id == wanted).map(|(_, of)| of);
        let sum = |activities| {
            Some(LaunchTotals {
                activities,
                total_ns: 10 * activities,
            })
        };
        assert_eq!([of(stack(3)), of(stack(1))], [sum(2), sum(1)]);
        assert_eq!(of(StackId::OTHERS), sum(5));
        assert_eq!(of(stack(MAX_ROW_STACKS as u16 + 1)), None);
    }
}
