//! What a comparison says, as plain data.

use super::measure::Measure;
use super::sides::{Fact, SideSummary};
use crate::peak_shares::Bound;

/// What is judged, and how strictly.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ComparisonOptions {
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

impl Default for ComparisonOptions {
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
pub enum ItemKind {
    /// The common factor of the runs: all GPU work, or all CPU work.
    All,
    /// A function.
    Function,
    /// A kernel.
    Kernel,
}

impl ItemKind {
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
pub struct SideFigures {
    /// Runs that have it.
    pub runs: usize,
    /// Geometric mean over the runs of the time per call, ns, as it was measured.
    pub ns: f64,
    /// Median over the runs of the number of calls.
    pub calls: u64,
    /// Median over the runs of the 95th percentile, ns, if it is known.
    pub p95_ns: Option<f64>,
    /// What limits its kernels, by the medians over the runs of the shares of the peaks; `None`
    /// without hardware counters.
    pub bound: Option<Bound>,
}

/// One function or kernel, or all of them.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ComparedItem {
    /// What it is.
    pub kind: ItemKind,
    /// Its name, as it is in the profiles.
    pub name: String,
    /// What its times are.
    pub measure: Measure,
    /// The old side; `None` if it is new, and for all work.
    pub old: Option<SideFigures>,
    /// The new side; `None` if it is gone, and for all work.
    pub new: Option<SideFigures>,
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
pub struct ProfileComparison {
    /// The old side.
    pub old: SideSummary,
    /// The new side.
    pub new: SideSummary,
    /// By what they were judged.
    pub options: ComparisonOptions,
    /// What makes the comparison doubtful.
    pub warnings: Vec<String>,
    /// What the runs of both sides say about themselves.
    pub facts: Vec<Fact>,
    /// Items by verdict, then by time on the new side.
    pub items: Vec<ComparedItem>,
}

impl ProfileComparison {
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
