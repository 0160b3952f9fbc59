//! Sites of functions that are known at run time only, such as the spans of `tracing` and
//! NVTX ranges.
//!
//! They are never freed: threads hold references to them, as they do to statics.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::Mutex;

use super::{Meta, Site};
use gpuprof_report::profile::NVTX_MODULE;

/// Sites that are made; all others are one.
const MAX_DYNAMIC_SITES: u64 = 4_096;

/// A list, so that a forked child, which takes no lock, can walk it.
struct DynamicSite {
    site: Site,
    next: OnceLock<&'static DynamicSite>,
}

struct DynamicSites {
    first: OnceLock<&'static DynamicSite>,
    /// Held while a site is added.
    last: Mutex<Option<&'static DynamicSite>>,
    made: AtomicU64,
    /// Those of the calls beyond the limit: of functions that are not async, and of those that are.
    others: [OnceLock<&'static Site>; 2],
}

static SITES: DynamicSites = DynamicSites {
    first: OnceLock::new(),
    last: Mutex::new(None),
    made: AtomicU64::new(0),
    others: [const { OnceLock::new() }; 2],
};

/// The name of the site of all others.
pub(crate) const OTHERS_NAME: &str = "(other functions)";

/// A new site; beyond the limit the one of all others.
pub(crate) fn add(meta: Meta) -> &'static Site {
    if SITES.made.fetch_add(1, Relaxed) < MAX_DYNAMIC_SITES {
        return append(meta);
    }
    let is_range = meta.module == NVTX_MODULE;
    let others = || {
        append(Meta {
            cpu: meta.cpu,
            is_async: meta.is_async,
            ..Meta::named(OTHERS_NAME, if is_range { NVTX_MODULE } else { "" }, "", 0)
        })
    };
    let [plain, asynchronous] = &SITES.others;
    let site = if meta.is_async { asynchronous } else { plain };
    site.get_or_init(others)
}

/// Whether a new site would be that of all others.
#[cfg(feature = "inject")]
pub(crate) fn is_full() -> bool {
    SITES.made.load(Relaxed) >= MAX_DYNAMIC_SITES
}

/// What the report says of functions beyond the limit.
#[cfg(any(test, feature = "tracing"))]
pub(crate) fn note() -> Option<String> {
    let summed = SITES.made.load(Relaxed).saturating_sub(MAX_DYNAMIC_SITES);
    (summed > 0).then(|| {
        format!(
            "{summed} functions beyond the first {MAX_DYNAMIC_SITES} that were known at run time \
             only are one row, {OTHERS_NAME}"
        )
    })
}

fn append(meta: Meta) -> &'static Site {
    let new: &'static DynamicSite = Box::leak(Box::new(DynamicSite {
        site: Site::new(meta),
        next: OnceLock::new(),
    }));
    let mut last = SITES.last.lock();
    let end = last.map_or(&SITES.first, |last| &last.next);
    // It is empty: whoever appends holds the lock.
    let _ = end.set(new);
    *last = Some(new);
    &new.site
}

/// The sites that were made, oldest first. Takes no lock.
pub(super) fn made_sites() -> impl Iterator<Item = &'static Site> {
    let first = SITES.first.get().copied();
    let all = std::iter::successors(first, |one| one.next.get().copied());
    all.map(|one| &one.site)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta(name: &'static str) -> Meta {
        Meta::named(name, "module", "file", 7)
    }

    #[test]
    fn sites_beyond_the_limit_are_one_and_counted() {
        let first = add(meta("first"));
        for _ in 1..MAX_DYNAMIC_SITES {
            add(meta("another"));
        }
        assert_eq!(note(), None);
        let [one, other] = ["one", "other"].map(|name| add(meta(name)));
        assert!(std::ptr::eq(one, other));
        let asynchronous = Meta {
            is_async: true,
            ..meta("async")
        };
        assert!(add(asynchronous).meta.is_async && !one.meta.is_async);
        assert_eq!((one.name(), one.meta.line), (OTHERS_NAME, 0));
        assert_eq!(
            note().as_deref(),
            Some(
                "3 functions beyond the first 4096 that were known at run time only are one row, \
                 (other functions)"
            )
        );
        let made: Vec<&Site> = made_sites().collect();
        assert_eq!(made.len() as u64, MAX_DYNAMIC_SITES + 2);
        assert!(std::ptr::eq(made[0], first) && std::ptr::eq(made[4_096], one));
    }
}
