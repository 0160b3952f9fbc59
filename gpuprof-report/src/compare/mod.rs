//! Two versions of a program by their profiles: which functions and kernels became faster or slower.
//!
//! # Method
//!
//! The unit is the run. The calls of one run share its clocks, temperature, memory layout and
//! neighbours, so that a million calls of one run say less than five runs (Kalibera and Jones,
//! "Rigorous benchmarking in reasonable time", ISMM 2013).
//!
//! 1. The figure of an item in a run is its time per call: the GPU busy time, without CUPTI the GPU
//!    span, without GPU work the CPU time, and of a kernel the time of a launch. Of spans, CPU times
//!    and kernels the longest one in a hundred calls is left out, and of fewer calls, from ten on,
//!    the longest, which is often the first. Figures are compared as logarithms: a ratio.
//! 2. A common factor of each run, such as a lower clock, is the median over the items of the run
//!    of their deviation from their own median over all runs. Items are kernels or, without CUPTI,
//!    functions with most of their time in themselves, so that no work counts twice; GPU and CPU
//!    have a factor each. Items are judged without it, each by a factor to which it did not
//!    contribute. With fewer than five items there is no correction, and none for an
//!    item that is `SAME` as measured: work that is bound by memory does not follow the clock.
//! 3. The factors themselves are compared as items of their own, `all GPU work` and `all CPU work`,
//!    so that a change of everything does not vanish. Clocks alone can cause it, so that it is
//!    an alarm from [`Options::common_threshold`] on, and `UNSURE` below.
//! 4. The difference of means of both sides is tested with the moderated t statistic of Smyth
//!    ("Linear models and empirical Bayes methods for assessing differential expression", 2004):
//!    with few runs, the variance of an item that seems quieter than the others is drawn towards
//!    theirs. It is never lowered, because an item may be noisier than all others. Five runs a side
//!    are too few for a rank test alone: its smallest probability, 2/252, does not survive the
//!    correction for many functions.
//! 5. Probabilities are corrected for the number of items (Holm, "A simple sequentially rejective
//!    multiple test procedure", 1979), so that a comparison without any change has a verdict `FASTER`
//!    or `SLOWER` with a probability of at most [`Options::alpha`].
//! 6. One odd run does not decide: the ranks of the runs must differ too, by the test of Mann and
//!    Whitney (1947) at 2 %, or every run of one side lies below every run of the other.
//!
//! # Verdicts
//!
//! - `SLOWER`, `FASTER`: the corrected probability is below α, the ranks differ, and the change is at
//!   least [`Options::min_change`].
//! - `SAME`: the 95 % interval of the change lies within ± [`Options::margin`].
//! - `UNSURE`: neither. More runs, or quieter ones, decide it.
//! - `NEW`, `GONE`: only one side has it.
//!
//! With one run a side the spread of runs is unknown, and every verdict is `UNSURE`.

mod distributions;
mod estimate;
mod gate;
mod items;
mod json;
mod judge;
mod lines;
mod markdown;
mod measure;
mod sides;
mod table;
#[cfg(test)]
mod tests;
mod text;
mod warnings;

use crate::profile::Profile;

pub use gate::{Gate, Rule};
pub use json::to_json;
pub use markdown::to_markdown;
pub use measure::Measure;
pub use sides::{Fact, Side};
pub use table::to_text;

/// What is judged, and how strictly.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Options {
    /// The probability of any verdict `FASTER` or `SLOWER` without a change.
    pub alpha: f64,
    /// The least change that is `FASTER` or `SLOWER`, as a share.
    pub min_change: f64,
    /// The greatest change that is still `SAME`, as a share.
    pub margin: f64,
    /// The least change of all GPU work, or of all CPU work, that is `FASTER` or `SLOWER`, as a
    /// share: more than clocks and temperatures change.
    pub common_threshold: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            alpha: 0.01,
            min_change: 0.01,
            margin: 0.03,
            common_threshold: 0.10,
        }
    }
}

/// What a comparison says about an item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Verdict {
    /// Slower beyond doubt.
    Slower,
    /// The runs do not decide it.
    #[default]
    Unsure,
    /// Faster beyond doubt.
    Faster,
    /// Only on the new side.
    New,
    /// Only on the old side.
    Gone,
    /// The same, within the margin.
    Same,
}

impl Verdict {
    /// All of them, in the order of tables.
    pub const ALL: [Self; 6] = [
        Self::Slower,
        Self::Unsure,
        Self::Faster,
        Self::New,
        Self::Gone,
        Self::Same,
    ];

    /// The word in outputs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Slower => "SLOWER",
            Self::Unsure => "UNSURE",
            Self::Faster => "FASTER",
            Self::New => "NEW",
            Self::Gone => "GONE",
            Self::Same => "SAME",
        }
    }
}

/// What kind of thing is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Kind {
    /// The common factor of the runs: all GPU work, or all CPU work.
    All,
    /// A function.
    Function,
    /// A kernel.
    Kernel,
}

impl Kind {
    /// The word in outputs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Function => "function",
            Self::Kernel => "kernel",
        }
    }
}

/// The figures of an item on one side.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Figure {
    /// Runs that have it.
    pub runs: usize,
    /// Geometric mean over the runs of the time per call, ns, as it was measured.
    pub ns: f64,
    /// Median over the runs of the number of calls.
    pub calls: u64,
    /// Median over the runs of the 95th percentile, ns, if it is known.
    pub p95_ns: Option<f64>,
}

/// One function or kernel, or all of them.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Item {
    /// What it is.
    pub kind: Kind,
    /// Its name, as it is in the profiles.
    pub name: String,
    /// What its times are.
    pub measure: Measure,
    /// The old side; `None` if it is new, and for all work.
    pub old: Option<Figure>,
    /// The new side; `None` if it is gone, and for all work.
    pub new: Option<Figure>,
    /// What the comparison says.
    pub verdict: Verdict,
    /// Change of the time per call without that of all work, as a share: 0.05 is 5 % slower.
    /// `None` if a side lacks it.
    pub change: Option<f64>,
    /// Ends of the 95 % interval of `change`; `None` if the spread of runs is unknown.
    pub interval: Option<(f64, f64)>,
    /// The probability of such a change by chance, corrected for the number of items; `None` if the
    /// spread of runs is unknown.
    pub p: Option<f64>,
    /// Whether the ranks of the runs agree that the sides differ.
    pub ranks_differ: bool,
    /// Change as measured, with that of all work, as a share.
    pub measured_change: Option<f64>,
    /// What else changed.
    pub notes: Vec<String>,
}

/// Two sides, item by item.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Comparison {
    /// The old side.
    pub old: Side,
    /// The new side.
    pub new: Side,
    /// By what they were judged.
    pub options: Options,
    /// What makes the comparison doubtful.
    pub warnings: Vec<String>,
    /// What the runs of both sides say about themselves.
    pub facts: Vec<Fact>,
    /// Items by verdict, then by time on the new side.
    pub items: Vec<Item>,
}

impl Comparison {
    /// The number of items with a verdict.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> usize {
        let of = self.items.iter().filter(|item| item.verdict == verdict);
        of.count()
    }

    /// Whether the spread of runs is unknown, so that nothing can be decided.
    #[must_use]
    pub fn is_undecidable(&self) -> bool {
        self.old.runs + self.new.runs < 3
    }
}

/// Compares the runs of two versions of a program. Each profile is a run.
///
/// ```
/// use gpuprof_report::compare::{Options, compare};
/// use gpuprof_report::profile::Profile;
///
/// let comparison = compare(&[Profile::default()], &[Profile::default()], &Options::default());
/// assert!(comparison.items.is_empty());
/// ```
#[must_use]
pub fn compare(old: &[Profile], new: &[Profile], options: &Options) -> Comparison {
    let items = items::collect(old, new);
    Comparison {
        old: Side::new(old),
        new: Side::new(new),
        options: *options,
        warnings: warnings::of(old, new),
        facts: sides::facts(old, new),
        items: judge::judge(items, old.len(), options),
    }
}
