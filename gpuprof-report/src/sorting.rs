//! Stable sorting for all types by one routine.
//!
//! The standard library's sort is some 8 KB of code for each type that is sorted, and reports sort
//! fifty. Here it sorts positions, and only exchanging the items is made for each type.

use std::cmp::Ordering;

/// As [`slice::sort_by`].
pub fn sort_by<T>(items: &mut [T], mut compare: impl FnMut(&T, &T) -> Ordering) {
    let exchanges = exchanges(items.len(), &mut |one, other| match (
        items.get(one),
        items.get(other),
    ) {
        (Some(one), Some(other)) => compare(one, other),
        _ => Ordering::Equal,
    });
    for (one, other) in exchanges {
        items.swap(one, other);
    }
}

/// As [`slice::sort_by_key`].
pub fn sort_by_key<T, K: Ord>(items: &mut [T], mut key: impl FnMut(&T) -> K) {
    sort_by(items, |one, other| key(one).cmp(&key(other)));
}

/// The exchanges, one after another, that sort so many items.
fn exchanges(
    count: usize,
    compare: &mut dyn FnMut(usize, usize) -> Ordering,
) -> Vec<(usize, usize)> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|one, other| compare(*one, *other));
    let mut exchanges = Vec::new();
    for first in 0..count {
        // Around the cycle of positions whose items take each other's places.
        let mut at = first;
        while let Some(from) = order.get_mut(at) {
            let from = std::mem::replace(from, at);
            if from == first {
                break;
            }
            exchanges.push((at, from));
            at = from;
        }
    }
    exchanges
}

#[cfg(test)]
mod tests {
    use super::{sort_by, sort_by_key};

    #[test]
    fn items_are_as_the_standard_librarys_sort_leaves_them() {
        let mut random = fastrand::Rng::with_seed(1);
        for len in 0..200 {
            let mut items: Vec<(u8, usize)> = (0..len).map(|at| (random.u8(..20), at)).collect();
            let (mut by, mut expected) = (items.clone(), items.clone());
            expected.sort_by_key(|(key, _)| *key);
            sort_by_key(&mut items, |(key, _)| *key);
            assert_eq!(items, expected);
            expected.sort_by(|(one, _), (other, _)| other.cmp(one));
            sort_by(&mut by, |(one, _), (other, _)| other.cmp(one));
            assert_eq!(by.len(), expected.len());
            assert!(
                by.iter()
                    .zip(&expected)
                    .all(|(one, other)| one.0 == other.0)
            );
        }
    }
}
