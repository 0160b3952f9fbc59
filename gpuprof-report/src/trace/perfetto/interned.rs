//! Names that events refer to by number.

use std::collections::HashMap;

use super::messages::{InternedData, InternedName};

/// The names so far, and those that no packet has yet.
#[derive(Default)]
pub(super) struct Interned {
    categories: HashMap<&'static str, u64>,
    events: HashMap<String, u64>,
    annotations: HashMap<String, u64>,
    new: InternedData,
}

impl Interned {
    pub(super) fn category(&mut self, name: &'static str) -> u64 {
        if let Some(&iid) = self.categories.get(name) {
            return iid;
        }
        let iid = number(self.categories.len());
        self.categories.insert(name, iid);
        self.new.event_categories.push(interned(iid, name));
        iid
    }

    pub(super) fn event(&mut self, name: &str) -> u64 {
        number_of(name, &mut self.events, &mut self.new.event_names)
    }

    pub(super) fn annotation(&mut self, name: &str) -> u64 {
        let new = &mut self.new.debug_annotation_names;
        number_of(name, &mut self.annotations, new)
    }

    /// The names since the last call; `None` if there are none.
    pub(super) fn take_new(&mut self) -> Option<InternedData> {
        let new = std::mem::take(&mut self.new);
        (new != InternedData::default()).then_some(new)
    }
}

fn number_of(name: &str, known: &mut HashMap<String, u64>, new: &mut Vec<InternedName>) -> u64 {
    if let Some(&iid) = known.get(name) {
        return iid;
    }
    let iid = number(known.len());
    known.insert(name.to_owned(), iid);
    new.push(interned(iid, name));
    iid
}

/// Number of the next of so many names.
fn number(known: usize) -> u64 {
    u64::try_from(known).unwrap_or(u64::MAX).saturating_add(1)
}

fn interned(iid: u64, name: &str) -> InternedName {
    InternedName {
        iid: Some(iid),
        name: Some(name.to_owned()),
    }
}
