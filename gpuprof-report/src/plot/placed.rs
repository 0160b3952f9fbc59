//! What stands at a place of the x axis in every panel.

/// A labelled line across the x axis.
pub(super) struct PlacedTick {
    pub(super) place: f64,
    pub(super) label: String,
}

/// The line of a cache mark, and its label above the panels.
pub(super) struct PlacedMark {
    pub(super) place: f64,
    pub(super) cache: &'static str,
    pub(super) label: String,
    pub(super) middle: f64,
    pub(super) row: usize,
}
