//! A profile as metrics of Prometheus: [`Families`] are plain data, and [`text`] writes them.
//!
//! Names and units follow Prometheus's conventions: seconds and bytes, `_total` for counters. The
//! number of series is bounded: [`MAX_FUNCTIONS`] functions have series of their own, and
//! [`OTHER_FUNCTIONS`] has the sums of all others.

mod buckets;
mod families;
mod family;
mod series;
pub mod text;

pub use self::buckets::{BOUNDS, DurationBuckets};
pub use self::families::families;
pub use self::family::{
    BaseUnit, Families, Family, MetricKind, SeriesLabel, SeriesSample, SeriesValue, seconds,
};
pub use self::series::{MAX_FUNCTIONS, OTHER_FUNCTIONS, Series};
