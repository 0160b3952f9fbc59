//! Benchmark sweeps as plots: the time per call, and the throughput where bytes or FLOPs are
//! stated, over a parameter, beside what the device can do at most.

mod chart;
mod legend;
mod number;
mod panel;
mod placed;
mod quantity;
mod scale;
mod shapes;
mod svg;
mod sweep;
mod work;

use crate::profile::Profile;

/// The plot of a benchmark on one device.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Plot {
    /// Name of the benchmark, as the profile has it.
    pub name: String,
    /// A complete `<svg>` element, which is valid as a file and within HTML. It has no style, no
    /// script, no identifier and no reference.
    pub svg: String,
}

/// One plot for each benchmark and device with results at two or more values of a numeric
/// parameter, in the order in which they first appear. The same profile makes the same bytes.
///
/// The x axis is the numeric parameter with the most distinct values, the last of them if there
/// are several. Both axes are logarithmic: a result is omitted if its median or its value of that
/// parameter is not a positive number.
#[must_use]
pub fn plots(profile: &Profile) -> Vec<Plot> {
    sweep::sweeps(profile)
        .iter()
        .map(|sweep| Plot {
            name: sweep.name.to_owned(),
            svg: chart::draw(sweep),
        })
        .collect()
}
