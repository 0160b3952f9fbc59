//! The spans that this thread has made or entered last, which spares most calls the registry, where
//! a look-up takes as long as a call.

use std::cell::RefCell;
use std::sync::Arc;

use super::span_data::SpanData;
use crate::os::own_work::OwnWork;

/// More than a large model has: one of 70 layers enters some 900 spans in each pass.
const SPANS: usize = 1_024;

/// A span's number, and what is known of it.
type Latest = Option<(u64, Arc<SpanData>)>;

thread_local! {
    /// Each in the place of its number; empty before the first.
    static LATEST: RefCell<Vec<Latest>> = const { RefCell::new(Vec::new()) };
}

/// `None`: the registry has to be asked.
pub(super) fn find(id: u64) -> Option<Arc<SpanData>> {
    let latest = |spans: &RefCell<Vec<Latest>>| {
        let spans = spans.try_borrow().ok()?;
        let (of, data) = spans.get(place(id))?.as_ref()?;
        // Another thread may have closed it, and a later span may have its number.
        (*of == id && !data.is_closed()).then(|| Arc::clone(data))
    };
    LATEST.try_with(latest).ok().flatten()
}

/// Replaces the one in its place.
pub(super) fn insert(id: u64, data: Arc<SpanData>) {
    replace(id, Some((id, data)));
}

/// The span is closed.
pub(super) fn remove(id: u64) {
    replace(id, None);
}

fn replace(id: u64, by: Latest) {
    let replaced = LATEST.try_with(|spans| {
        let mut spans = spans.try_borrow_mut().ok()?;
        if spans.is_empty() {
            let _own = OwnWork::begin();
            spans.resize_with(SPANS, || None);
        }
        Some(std::mem::replace(spans.get_mut(place(id))?, by))
    });
    // Outside the borrow, as the end of a call may run code of a tool.
    drop(replaced);
}

/// The low bits of a registry's numbers are the span's place in it.
fn place(id: u64) -> usize {
    id as usize % SPANS
}
