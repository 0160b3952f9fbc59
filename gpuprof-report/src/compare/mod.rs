//! Two versions of a program by their profiles: which functions and kernels became faster or
//! slower.
//!
//! # Method
//!
//! The unit is the run. The calls of one run share its clocks, temperature, memory layout and
//! neighbours, so that a million calls of one run say less than five runs (Kalibera and Jones,
//! "Rigorous benchmarking in reasonable time", ISMM 2013).
//!
//! 1. The figure of an item in a run is its time per call: the GPU busy time, without CUPTI the GPU
//!    span, without GPU work the CPU time, and of a kernel the time of a launch. Of ten calls and
//!    more the longest is left out, often the first, and of spans and CPU times one in a hundred.
//!    Figures are compared as logarithms: a ratio.
//! 2. A common factor of each run, such as a lower clock, is the median over the items of the run
//!    of their deviation from their own median over all runs. Items are kernels or, without CUPTI,
//!    functions with most of their time in themselves, so that no work counts twice; GPU and CPU
//!    have a factor each. Items are judged without it, each by a factor to which it did not
//!    contribute. With fewer than five items there is no correction, and none for an item that is
//!    `SAME` as measured: work that is bound by memory does not follow the clock.
//! 3. The factors themselves are compared as items of their own, `all GPU work` and `all CPU work`,
//!    so that a change of everything does not vanish. Clocks alone can cause it, so that it is an
//!    alarm from [`ComparisonOptions::common_threshold`] on, and `UNSURE` below.
//! 4. The difference of means of both sides is tested with the moderated t statistic of Smyth
//!    ("Linear models and empirical Bayes methods for assessing differential expression", 2004):
//!    with few runs, the variance of an item that seems quieter than the others is drawn towards
//!    theirs. It is never lowered, because an item may be noisier than all others. Five runs a side
//!    are too few for a rank test alone: its smallest probability, 2/252, does not survive the
//!    correction for many functions.
//! 5. Probabilities are corrected for the number of items (Holm, "A simple sequentially rejective
//!    multiple test procedure", 1979), so that a comparison without any change has a verdict
//!    `FASTER` or `SLOWER` with a probability of at most [`ComparisonOptions::alpha`], as far as
//!    the runs are independent and their logarithms normal; docs/comparing.md has the rates by
//!    simulation.
//! 6. One odd run does not decide: the ranks of the runs must differ too, by the test of Mann and
//!    Whitney (1947) at 2 %, or every run of one side lies below every run of the other.
//!
//! # Verdicts
//!
//! - `SLOWER`, `FASTER`: the corrected probability is below α, the ranks differ, and the change is
//!   at least [`ComparisonOptions::min_change`].
//! - `SAME`: the 95 % interval of the change lies within ± [`ComparisonOptions::margin`].
//! - `UNSURE`: neither. More runs, or quieter ones, decide it.
//! - `NEW`, `GONE`: only one side has it.
//!
//! With one run a side the spread of runs is unknown, and every verdict is `UNSURE`.

mod bounds;
mod comparison;
mod distributions;
mod estimate;
mod gate;
mod items;
mod json;
mod judge;
mod markdown;
mod measure;
mod sentences;
mod sides;
mod table;
#[cfg(test)]
mod tests;
mod text;
mod warnings;

use crate::profile::Profile;

pub use comparison::{
    ComparedItem, ComparisonOptions, ItemKind, ProfileComparison, SideFigures, Verdict,
};
pub use gate::{GateOutcome, GateRule};
pub use json::to_json;
pub use markdown::to_markdown;
pub use measure::Measure;
pub use sides::{Fact, SideSummary};
pub use table::to_text;

/// Compares the runs of two versions of a program. Each profile is a run.
///
/// ```
/// use gpuprof_report::compare::{ComparisonOptions, compare};
/// use gpuprof_report::profile::Profile;
///
/// let run = [Profile::default()];
/// let comparison = compare(&run, &run, &ComparisonOptions::default());
/// assert!(comparison.items.is_empty());
/// ```
#[must_use]
pub fn compare(old: &[Profile], new: &[Profile], options: &ComparisonOptions) -> ProfileComparison {
    let items = items::collect(old, new);
    ProfileComparison {
        old: SideSummary::new(old),
        new: SideSummary::new(new),
        options: *options,
        warnings: warnings::comparison_warnings(old, new),
        facts: sides::facts(old, new),
        items: judge::judge(items, old.len(), options),
    }
}
