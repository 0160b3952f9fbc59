//! Step times of several profiles.

use std::cmp::Reverse;

use super::totals::rounded_mean;
use crate::figures::Sum;
use crate::profile::{MAX_SLOWEST_STEPS, Profile, SlowStep, StepTimes};

/// Adds the steps of a profile: counts and times are added, and the slowest of all are listed. The
/// series of several processes are not one series, and are left out.
pub(super) fn add(sum: &mut Option<StepTimes>, profile: &Profile) {
    let Some(more) = &profile.steps else {
        return;
    };
    let sum = sum.get_or_insert_default();
    if more.count > 0 {
        sum.min_ns = match sum.count {
            0 => more.min_ns,
            _ => sum.min_ns.min(more.min_ns),
        };
    }
    sum.add(more);
    sum.mean_ns = rounded_mean(sum.total_ns.into(), sum.count);
    let of_profile = |slow: &SlowStep| SlowStep {
        rank: slow.rank.or(profile.rank),
        ..*slow
    };
    // A document may list any number of them.
    let listed = more.slowest.iter().take(MAX_SLOWEST_STEPS);
    sum.slowest.extend(listed.map(of_profile));
    sum.slowest.sort_by_key(|slow| Reverse(slow.ns));
    sum.slowest.truncate(MAX_SLOWEST_STEPS);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(rank: u32, times: &[u64]) -> Profile {
        let mut steps = StepTimes {
            count: times.len() as u64,
            total_ns: times.iter().sum(),
            min_ns: times.iter().copied().min().unwrap_or_default(),
            max_ns: times.iter().copied().max().unwrap_or_default(),
            series_ns: times.to_vec(),
            ..StepTimes::default()
        };
        let slowest = (1..).zip(times).map(|(step, &ns)| SlowStep {
            step,
            ns,
            rank: None,
        });
        steps.slowest = slowest.collect();
        Profile {
            rank: Some(rank),
            steps: Some(steps),
            ..Profile::default()
        }
    }

    #[test]
    fn steps_of_ranks_are_added_and_the_slowest_of_all_named() {
        let mut sum = None;
        add(&mut sum, &Profile::default());
        assert_eq!(sum, None);
        add(&mut sum, &rank(3, &[10, 40]));
        add(&mut sum, &rank(5, &[20, 5, 28]));
        add(&mut sum, &rank(6, &[]));
        let sum = sum.unwrap();
        assert_eq!((sum.count, sum.total_ns, sum.mean_ns), (5, 103, 21));
        assert_eq!((sum.min_ns, sum.max_ns), (5, 40));
        assert!(sum.series_ns.is_empty());
        let slowest: Vec<_> = (sum.slowest.iter())
            .map(|slow| (slow.step, slow.ns, slow.rank))
            .collect();
        let expected = [
            (2, 40, Some(3)),
            (3, 28, Some(5)),
            (1, 20, Some(5)),
            (1, 10, Some(3)),
            (2, 5, Some(5)),
        ];
        assert_eq!(slowest, expected);
    }

    #[test]
    fn sums_end_at_the_largest_number_and_the_list_at_ten() {
        let mut huge = rank(0, &[u64::MAX]);
        let steps = huge.steps.as_mut().unwrap();
        steps.count = u64::MAX;
        steps.slowest = vec![SlowStep::default(); 100_000];
        let mut sum = None;
        add(&mut sum, &huge);
        add(&mut sum, &huge);
        let sum = sum.unwrap();
        assert_eq!((sum.count, sum.total_ns), (u64::MAX, u64::MAX));
        assert_eq!(sum.slowest.len(), MAX_SLOWEST_STEPS);
    }
}
