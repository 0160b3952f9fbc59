//! A comparison as a JSON document, `gpuprof.comparison/1`.

use super::comparison::{ComparedItem, ProfileComparison, SideFigures};
use super::sides::{Fact, SideSummary};
use crate::json_writer::{Fields, JsonObject, document};
use crate::peak_shares::Bound;

/// The name and version of the document.
const SCHEMA: &str = "gpuprof.comparison/1";

/// Writes a comparison as indented JSON with a newline at the end. Changes and the ends of
/// intervals are shares: 0.05 is 5 % slower. `bound` is the unit whose peak is nearest and
/// `bound_share` its share of that peak, or `latency` and null. What is unknown is null.
#[must_use]
pub fn to_json(comparison: &ProfileComparison) -> String {
    let mut text = document(comparison);
    text.push('\n');
    text
}

impl JsonObject for ProfileComparison {
    fn write_fields(&self, fields: &mut Fields<'_>) {
        fields.field("schema", &SCHEMA.to_owned());
        fields.field("old", &self.old);
        fields.field("new", &self.new);
        fields.field("alpha", &self.options.alpha);
        fields.field("min_change", &self.options.min_change);
        fields.field("margin", &self.options.margin);
        fields.field("common_threshold", &self.options.common_threshold);
        fields.field("warnings", &self.warnings);
        fields.field("facts", &self.facts);
        fields.field("items", &self.items);
    }
}

impl JsonObject for SideSummary {
    fn write_fields(&self, fields: &mut Fields<'_>) {
        fields.field("runs", &(self.runs as u64));
        fields.field("wall_ns", &self.wall_ns);
        fields.field("simulated", &self.simulated);
    }
}

impl JsonObject for Fact {
    fn write_fields(&self, fields: &mut Fields<'_>) {
        fields.field("key", &self.key);
        fields.field("old", &self.old);
        fields.field("new", &self.new);
    }
}

impl JsonObject for ComparedItem {
    fn write_fields(&self, fields: &mut Fields<'_>) {
        fields.field("kind", &self.kind.as_str().to_owned());
        fields.field("name", &self.name);
        fields.field("measure", &self.measure.as_str().to_owned());
        fields.field("verdict", &self.verdict.as_str().to_owned());
        fields.field("old", &self.old);
        fields.field("new", &self.new);
        fields.field("change", &self.change);
        fields.field("interval", &self.interval.map(|(low, high)| [low, high]));
        fields.field("p", &self.p);
        fields.field("ranks_differ", &self.ranks_differ);
        fields.field("measured_change", &self.measured_change);
        fields.field("notes", &self.notes);
    }
}

impl JsonObject for SideFigures {
    fn write_fields(&self, fields: &mut Fields<'_>) {
        fields.field("runs", &(self.runs as u64));
        fields.field("ns", &self.ns);
        fields.field("calls", &self.calls);
        fields.field("p95_ns", &self.p95_ns);
        fields.field("bound", &self.bound.map(|bound| bound.name()));
        let share = match self.bound {
            Some(Bound::Unit(_, share)) => Some(share),
            Some(Bound::Latency) | None => None,
        };
        fields.field("bound_share", &share);
    }
}
