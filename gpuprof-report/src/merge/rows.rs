//! Rows that are found by a name and a number, up to a limit.

use std::collections::HashMap;

/// Rows of one table.
#[derive(Clone, Debug)]
pub(super) struct RowsByName<T> {
    /// Numbers of rows by name and number: a recursive program has very many of one name.
    index: HashMap<String, HashMap<u32, u32>>,
    rows: Vec<T>,
    /// Rows for which there was no room.
    pub(super) dropped: u64,
}

/// Rows of a table: as many as a process can have call paths.
pub(super) const MAX_ROWS: usize = 65_536;

impl<T> Default for RowsByName<T> {
    fn default() -> Self {
        Self {
            index: HashMap::new(),
            rows: Vec::new(),
            dropped: 0,
        }
    }
}

impl<T> RowsByName<T> {
    /// The number of the row of this name and number, which is made if there is none; `None` if
    /// there are [`MAX_ROWS`] already.
    pub(super) fn position(
        &mut self,
        name: &str,
        number: u32,
        make: impl FnOnce() -> T,
    ) -> Option<u32> {
        let known = self.index.get(name);
        if let Some(at) = known.and_then(|numbers| numbers.get(&number)) {
            return Some(*at);
        }
        if self.rows.len() >= MAX_ROWS {
            self.dropped = self.dropped.saturating_add(1);
            return None;
        }
        let at = self.rows.len() as u32;
        self.rows.push(make());
        let numbers = self.index.entry(name.to_owned()).or_default();
        numbers.insert(number, at);
        Some(at)
    }

    pub(super) fn get_mut(&mut self, at: u32) -> Option<&mut T> {
        self.rows.get_mut(at as usize)
    }

    pub(super) fn get(&self, at: u32) -> Option<&T> {
        self.rows.get(at as usize)
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.rows.iter()
    }

    /// The rows in the order of `key`, and where each row now is.
    pub(super) fn sorted_by_key<K: Ord>(self, key: impl Fn(&T) -> K) -> (Vec<T>, Vec<u32>) {
        let mut numbered: Vec<(usize, T)> = self.rows.into_iter().enumerate().collect();
        numbered.sort_by_cached_key(|(_, row)| key(row));
        let mut places = vec![0; numbered.len()];
        for (place, (at, _)) in numbered.iter().enumerate() {
            if let Some(known) = places.get_mut(*at) {
                *known = place as u32;
            }
        }
        (numbered.into_iter().map(|(_, row)| row).collect(), places)
    }
}
