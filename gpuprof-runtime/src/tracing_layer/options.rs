//! What a call is, and what its label.

use tracing_core::Metadata;

/// What a call of a function is, if the function is a callsite of `tracing`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallRule {
    /// Each time that a span is entered. For spans that are made once and entered often, such as
    /// those of a layer of a model. Their label is the label field or, without one, the number of
    /// the span among those of its callsite: `[0]`, `[1]`, ….
    PerEnter,
    /// A span, with the sum of the times in which it was entered: a function with `#[instrument]`,
    /// async or not.
    PerSpan,
}

/// Targets begin so, and spans of these targets have this rule.
const RULES: [(&str, CallRule); 1] = [("candle", CallRule::PerEnter)];

/// What the layer itself needs of the options.
#[derive(Clone, Debug)]
pub(super) struct LayerOptions {
    /// By the beginnings of targets.
    pub(super) rules: Vec<(String, CallRule)>,
    pub(super) label_field: Option<String>,
}

impl Default for LayerOptions {
    fn default() -> Self {
        Self {
            rules: RULES.map(|(target, rule)| (target.to_owned(), rule)).into(),
            label_field: None,
        }
    }
}

impl LayerOptions {
    /// That of the longest beginning of the target.
    pub(super) fn rule(&self, metadata: &Metadata<'_>) -> CallRule {
        let target = metadata.target();
        let rules = self.rules.iter().filter(|rule| target.starts_with(&rule.0));
        // Of two equal ones the later.
        let longest = rules.max_by_key(|rule| rule.0.len());
        longest.map_or(CallRule::PerSpan, |rule| rule.1)
    }
}
