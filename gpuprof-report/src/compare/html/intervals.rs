//! Changes and their intervals as pictures.

use std::fmt::Write as _;

use crate::compare::{Comparison, Item};

/// Ends of the axis, as shares.
const LIMITS: [f64; 5] = [0.05, 0.10, 0.25, 0.50, 1.00];
/// Intervals within this share of zero are always on the axis.
const ALWAYS_HELD: f64 = 0.10;
/// Half the width of a picture.
const HALF_WIDTH: f64 = 100.0;

/// The axis that the pictures of all rows share: zero in its middle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Axis {
    /// Its end, as a share.
    pub(super) limit: f64,
    margin: f64,
}

impl Axis {
    /// One that holds all intervals within ± 10 %, and at least three quarters of all, so that a
    /// single large change does not hide the others.
    pub(super) fn new(comparison: &Comparison) -> Self {
        let mut ends: Vec<f64> = comparison.items.iter().filter_map(end).collect();
        ends.sort_by(f64::total_cmp);
        let most = (ends.len() * 3).div_ceil(4).saturating_sub(1);
        let most = ends.get(most).copied().unwrap_or(0.0);
        let largest = ends.last().copied().unwrap_or(0.0);
        let needed = most.max(largest.min(ALWAYS_HELD));
        let limit = LIMITS.into_iter().find(|limit| *limit >= needed);
        Self {
            limit: limit.unwrap_or(1.0),
            margin: comparison.options.margin,
        }
    }

    /// The picture of an item: a bar for its interval, a line for its change, and an arrow where
    /// either is beyond the axis; empty without a change. Readers of the screen skip it, because
    /// the cells beside it state both.
    pub(super) fn picture(&self, item: &Item) -> String {
        let Some(change) = item.change else {
            return String::new();
        };
        let (low, high) = item.interval.unwrap_or((change, change));
        let mut svg = String::from(
            "<svg class=\"interval\" viewBox=\"0 0 200 16\" preserveAspectRatio=\"none\" \
             aria-hidden=\"true\">",
        );
        let band = [self.x(-self.margin), self.x(self.margin)];
        // Writing to a String cannot fail.
        let _ = rectangle("band", band, (0, 16), &mut svg);
        svg.push_str(r#"<path class="zero" d="M100 0V16"/>"#);
        let _ = rectangle("range", [self.x(low), self.x(high)], (4, 8), &mut svg);
        if change.abs() <= self.limit {
            let _ = write!(
                svg,
                r#"<path class="change" d="M{:.1} 1V15"/>"#,
                self.x(change)
            );
        }
        if low < -self.limit {
            svg.push_str(r#"<path class="beyond" d="M0 8l9-8v16z"/>"#);
        }
        if high > self.limit {
            svg.push_str(r#"<path class="beyond" d="M200 8l-9-8v16z"/>"#);
        }
        svg.push_str("</svg>");
        svg
    }

    fn x(&self, change: f64) -> f64 {
        HALF_WIDTH * (1.0 + (change / self.limit).clamp(-1.0, 1.0))
    }
}

/// The end of an item's interval that is farther from zero.
fn end(item: &Item) -> Option<f64> {
    let change = item.change?;
    let (low, high) = item.interval.unwrap_or((change, change));
    Some(low.abs().max(high.abs()))
}

fn rectangle(
    class: &str,
    [left, right]: [f64; 2],
    (top, height): (u32, u32),
    svg: &mut String,
) -> std::fmt::Result {
    write!(
        svg,
        r#"<rect class="{class}" x="{left:.1}" y="{top}" width="{:.1}" height="{height}"/>"#,
        right - left
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{Kind, Measure, Options, Side, Verdict};

    fn item(low: f64, change: f64, high: f64) -> Item {
        Item {
            kind: Kind::Function,
            name: String::new(),
            measure: Measure::Cpu,
            old: None,
            new: None,
            verdict: Verdict::Unsure,
            change: Some(change),
            interval: Some((low, high)),
            p: None,
            ranks_differ: false,
            measured_change: None,
            notes: Vec::new(),
        }
    }

    fn axis(items: Vec<Item>) -> Axis {
        Axis::new(&Comparison {
            old: Side::default(),
            new: Side::default(),
            options: Options::default(),
            warnings: Vec::new(),
            facts: Vec::new(),
            items,
        })
    }

    #[test]
    fn the_axis_holds_all_up_to_a_tenth_and_three_quarters_of_the_intervals() {
        let small = || item(-0.04, 0.0, 0.02);
        let large = || item(1.0, 2.0, 30.0);
        assert_eq!(axis(Vec::new()).limit, 0.05);
        assert_eq!(axis(vec![small(), small(), small(), large()]).limit, 0.10);
        assert_eq!(axis(vec![small(), small(), large()]).limit, 1.0);
        assert_eq!(axis(vec![small(), item(-0.051, 0.0, 0.0)]).limit, 0.10);
    }

    #[test]
    fn what_is_beyond_the_axis_is_an_arrow_at_its_end() {
        let axis = axis(vec![item(-0.04, 0.0, 0.02)]);
        let right = axis.picture(&item(0.04, 0.06, f64::INFINITY));
        assert!(
            right.ends_with(
                "<rect class=\"range\" x=\"180.0\" y=\"4\" width=\"20.0\" height=\"8\"/>\
                 <path class=\"beyond\" d=\"M200 8l-9-8v16z\"/></svg>"
            ),
            "{right}"
        );
        let left = axis.picture(&item(-0.9, -0.8, -0.7));
        assert!(left.ends_with(r#"<path class="beyond" d="M0 8l9-8v16z"/></svg>"#));
        assert!(!left.contains("M200"), "{left}");
    }

    #[test]
    fn without_an_interval_there_is_the_change_and_without_a_change_nothing() {
        let axis = axis(Vec::new());
        let mut alone = item(0.0, 0.025, 0.0);
        alone.interval = None;
        let picture = axis.picture(&alone);
        assert!(picture.contains(r#"<path class="change" d="M150.0 1V15"/>"#));
        assert!(!picture.contains("beyond"));
        alone.change = None;
        assert_eq!(axis.picture(&alone), "");
    }
}
