//! Whether a comparison fails.

use super::comparison::{ComparedItem, ProfileComparison, Verdict};

/// A limit on items whose name matches.
pub struct GateRule {
    /// The regular expression, as the user wrote it.
    pub pattern: String,
    /// The least change that fails, as a share.
    pub change: f64,
    /// Whether a name matches.
    pub matches: Box<dyn Fn(&str) -> bool>,
}

impl std::fmt::Debug for GateRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Rule({}:{})", self.pattern, self.change)
    }
}

/// The answer of a comparison.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct GateOutcome {
    /// Names of the items that fail, with the rule by its place; `None` without rules.
    pub failures: Vec<(String, Option<usize>)>,
    /// Rules by their place that match no item: they check nothing.
    pub idle_rules: Vec<usize>,
    /// Names of the items that the runs do not decide.
    pub unsure: Vec<String>,
}

impl GateOutcome {
    /// Without rules, an item fails if it is `SLOWER`. With rules they alone decide: an item fails
    /// if a rule matches its name, its change is at least the rule's, and chance is ruled out at
    /// the comparison's α. If the spread of the runs is unknown, with one run a side, the change
    /// decides alone, because the rule states what is too much.
    #[must_use]
    pub fn new(comparison: &ProfileComparison, rules: &[GateRule]) -> Self {
        let mut gate = Self::default();
        let items = || comparison.items.iter();
        if rules.is_empty() {
            let slower = items().filter(|item| item.verdict == Verdict::Slower);
            gate.failures = slower.map(|item| (item.name.clone(), None)).collect();
        }
        for (place, rule) in rules.iter().enumerate() {
            let matching = || items().filter(|item| (rule.matches)(&item.name));
            if matching().next().is_none() {
                gate.idle_rules.push(place);
            }
            let failing = matching().filter(|item| fails(item, rule, comparison));
            let failing = failing.map(|item| (item.name.clone(), Some(place)));
            gate.failures.extend(failing);
        }
        let is_judged = |item: &&ComparedItem| {
            rules.is_empty() || rules.iter().any(|rule| (rule.matches)(&item.name))
        };
        let unsure = items().filter(|item| item.verdict == Verdict::Unsure);
        gate.unsure = unsure
            .filter(is_judged)
            .map(|item| item.name.clone())
            .collect();
        gate
    }
}

fn fails(item: &ComparedItem, rule: &GateRule, comparison: &ProfileComparison) -> bool {
    let is_shown = item.p.map_or(comparison.is_undecidable(), |p| {
        p < comparison.options.alpha
    });
    let change = match item.p {
        Some(_) => item.change,
        None => item.measured_change,
    };
    is_shown && change.is_some_and(|change| change > 0.0 && change >= rule.change)
}
