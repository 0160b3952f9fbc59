//! Every site of the program.

#[cfg(any(feature = "tracing", feature = "inject"))]
use super::dynamic_sites;
use super::{Site, SiteEntry};

/// Those of annotated functions, and those made at run time. Takes no lock.
pub(crate) fn all_sites() -> impl Iterator<Item = &'static Site> {
    let annotated = inventory::iter::<SiteEntry>.into_iter();
    let annotated = annotated.map(|entry| entry.0);
    #[cfg(any(feature = "tracing", feature = "inject"))]
    let annotated = annotated.chain(dynamic_sites::made_sites());
    annotated
}
